"""Tables with every common type, and changes to them, for comparing what change capture makes of them."""

SCHEMA = """
CREATE SCHEMA shop;
CREATE EXTENSION IF NOT EXISTS hstore;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN amount AS numeric(8, 2);
CREATE TABLE shop.everything (
    id serial PRIMARY KEY,
    a_smallint smallint, an_integer integer, a_bigint bigint NOT NULL DEFAULT 7, an_oid oid,
    a_numeric numeric, a_numeric_9_3 numeric(9, 3), a_numeric_5 numeric(5), a_money money, an_amount amount,
    a_real real, a_double double precision, a_boolean boolean DEFAULT true,
    a_text text DEFAULT 'none', a_varchar varchar(40), a_char char(5), a_name name,
    a_bytea bytea, a_bit bit(1), a_bit_5 bit(5), a_varbit varbit(12),
    a_date date, a_time time, a_time_3 time(3), a_time_0 time(0), a_timetz timetz,
    a_timestamp timestamp, a_timestamp_3 timestamp(3), a_timestamp_0 timestamp(0),
    a_timestamptz timestamptz, an_interval interval,
    a_uuid uuid, a_json json, a_jsonb jsonb, an_xml xml,
    an_inet inet, a_cidr cidr, a_macaddr macaddr, a_mood mood, an_hstore hstore,
    an_int4range int4range, a_numrange numrange, a_tsrange tsrange, a_tstzrange tstzrange, a_daterange daterange,
    an_int8range int8range, a_point point, a_citext_like text COLLATE "C",
    some_integers integer[], some_bigints bigint[], some_texts text[], some_varchars varchar(10)[],
    some_numerics numeric(7, 2)[], some_booleans boolean[], some_uuids uuid[], some_dates date[],
    some_timestamps timestamp[], some_reals real[], some_doubles double precision[], some_smallints smallint[],
    some_moods mood[], some_jsonbs jsonb[], some_timestamptzs timestamptz[]
);
CREATE TABLE shop.order_line (
    note text, line int NOT NULL, "Order Id" bigint NOT NULL, quantity int NOT NULL DEFAULT 1,
    PRIMARY KEY ("Order Id", line)
);
CREATE TABLE shop.full_row (id int PRIMARY KEY, word text, price numeric(6, 2));
ALTER TABLE shop.full_row REPLICA IDENTITY FULL;
CREATE TABLE shop.no_key (word text, number int);
CREATE TABLE shop.large (id int PRIMARY KEY, number int, body text, data bytea, words text[]);
ALTER TABLE shop.large ALTER body SET STORAGE EXTERNAL, ALTER data SET STORAGE EXTERNAL,
    ALTER words SET STORAGE EXTERNAL;
CREATE TABLE shop.strict (
    id int PRIMARY KEY, a_smallint smallint NOT NULL, a_bigint bigint NOT NULL, a_real real NOT NULL,
    a_double double precision NOT NULL, a_boolean boolean NOT NULL, a_text text NOT NULL, a_numeric numeric NOT NULL,
    a_numeric_9_3 numeric(9, 3) NOT NULL, a_bytea bytea NOT NULL, a_date date NOT NULL, a_time time NOT NULL,
    a_timestamp timestamp NOT NULL, a_timestamp_3 timestamp(3) NOT NULL, a_timestamptz timestamptz NOT NULL,
    an_interval interval NOT NULL, a_uuid uuid NOT NULL, a_json json NOT NULL, a_mood mood NOT NULL,
    an_hstore hstore NOT NULL, some_integers int[] NOT NULL, a_point point NOT NULL, a_bit bit(1) NOT NULL,
    a_bit_5 bit(5) NOT NULL, a_timetz timetz NOT NULL, a_money money NOT NULL, an_inet inet NOT NULL
);
CREATE TABLE shop.defaults (
    id bigserial PRIMARY KEY, made timestamptz NOT NULL DEFAULT now(), seen timestamp DEFAULT now(),
    code uuid NOT NULL DEFAULT gen_random_uuid(), word text NOT NULL DEFAULT 'x',
    price numeric(6, 2) NOT NULL DEFAULT 1.5, any_price numeric DEFAULT 2.25, day date DEFAULT '2024-02-29',
    clock time DEFAULT '12:30', at timestamp DEFAULT '2024-02-29 12:30:01',
    at_3 timestamp(3) NOT NULL DEFAULT '2024-02-29 12:30:01.5', data bytea DEFAULT '\\x0001',
    span interval DEFAULT '1 day', doc json DEFAULT '{}', docb jsonb NOT NULL DEFAULT '{"a": 1}',
    numbers int[] DEFAULT '{}', feeling mood DEFAULT 'ok', yes boolean NOT NULL DEFAULT false,
    small smallint DEFAULT -3, ratio real DEFAULT 0.5, double_ratio double precision NOT NULL DEFAULT -0.25,
    name varchar(10) DEFAULT 'it''s',
    letter char(3) DEFAULT 'a', flag bit(1) DEFAULT B'1', flags bit(3) DEFAULT B'101', cash money DEFAULT 3,
    place inet DEFAULT '10.0.0.1', zoned timestamptz DEFAULT '2024-02-29 12:30:01+01', sum int DEFAULT 1 + 2
);
CREATE TABLE shop.odd (
    id int PRIMARY KEY, a_bit_12 bit(12), a_timestamptz timestamptz, a_timestamptz_0 timestamptz(0),
    a_timestamptz_3 timestamptz(3), a_timestamp timestamp, a_timestamp_3 timestamp(3), a_date date, a_timetz timetz,
    a_timetz_3 timetz(3), a_real real, a_double double precision, a_numeric numeric, an_interval interval,
    a_tsvector tsvector, a_box box, some_inets inet[], a_macaddr8 macaddr8, some_timetzs timetz[], some_times time[],
    some_byteas bytea[], some_numerics numeric[], some_chars char(3)[], an_interval_2 interval, a_real_array real[],
    long_bit bit(70), a_regclass regclass, a_varbit varbit
);
CREATE TABLE shop.unique_only (a int NOT NULL, b text NOT NULL, c int, UNIQUE (b, a));
CREATE TABLE shop.parent (id int PRIMARY KEY, part int) ;
CREATE TABLE shop.split (id int, part int, word text, PRIMARY KEY (id, part)) PARTITION BY LIST (part);
CREATE TABLE shop.split_1 PARTITION OF shop.split FOR VALUES IN (1);
CREATE TABLE shop."Strange-Näme 1" (id int PRIMARY KEY, "9 lives" int, "a.b-c" text, "größe" int);
CREATE TABLE shop.changing (id int PRIMARY KEY, word text);
"""

EVERYTHING = [
    """INSERT INTO shop.everything VALUES (
    {id}, 12, -70000, 5000000000, 4000000000,
    12345.678900, 123.456, 12345, 1234.56, 17.5,
    1.5, -2.25e100, false, 'grüße, "Welt"', 'a varchar', 'abc', 'a_name',
    '\\x00ff10', B'1', B'10110', B'101',
    '2024-02-29', '13:45:01.123456', '13:45:01.123', '13:45:01', '13:45:01.5+02:30',
    '2024-02-29 13:45:01.123456', '2024-02-29 13:45:01.123', '2024-02-29 13:45:01',
    '2024-02-29 13:45:01.123456+02', '1 year 2 months 3 days 4 hours 5 minutes 6.789 seconds',
    '6b1a2c3d-0000-4000-8000-000000000001', '{{"a": [1, 2]}}', '{{"b":  {{"c": null}}}}', '<a>b</a>',
    '192.168.1.5/24', '10.0.0.0/8', '08:00:2b:01:02:03', 'happy', 'a=>1, "b c"=>NULL',
    '[1,5)', '(1.5,2.5]', '[2024-01-01 00:00,2024-01-02 00:00)', '[2024-01-01 00:00+00,2024-01-02 00:00+00)',
    '[2024-01-01,2024-02-01)', '[1,9000000000)', '(1.5,-2)', 'plain',
    '{{1,NULL,3}}', '{{5000000000}}', '{{a,"b, c",NULL,"NULL"}}', '{{x,y}}', '{{1.50,-2.25}}', '{{t,f,NULL}}',
    '{{6b1a2c3d-0000-4000-8000-000000000001}}', '{{2024-02-29,1969-12-31}}', '{{"2024-02-29 13:45:01.123456"}}',
    '{{1.5,NULL}}', '{{2.5}}', '{{1,2}}', '{{sad,happy}}', '{{"{{\\"a\\": 1}}"}}', '{{"2024-02-29 13:45:01.5+00"}}'
)""",
    "INSERT INTO shop.everything (id, a_text, a_boolean) VALUES ({id}, NULL, NULL)",
    """INSERT INTO shop.everything (id, a_bigint, a_smallint, an_integer, a_numeric, a_numeric_9_3, a_numeric_5,
    a_money, a_real, a_double, a_text, a_bytea, a_date, a_time, a_time_3, a_timestamp, a_timestamp_3, a_timestamptz,
    an_interval, some_integers, some_texts, an_hstore, a_varchar, a_char)
    VALUES ({id}, -9223372036854775808, -32768, 2147483647, 0.000000001, -999999.999, -99999, -0.01,
    0.1, 1e-300, '', '', '0044-03-15', '24:00:00', '00:00:00', '1969-12-31 23:59:59.999999',
    '0001-01-01 00:00:00', '9999-12-31 23:59:59.999999+00',
    '-3 days -04:05:06', '{{}}', '{{}}', '', '', '')""",
]

STRICT = (
    "INSERT INTO shop.strict VALUES ({id}, 1, 2, 3, 4, true, 'five', 6.5, 7.125, '\\x08', '2024-02-29', '10:11:12', "
    "'2024-02-29 12:00:00', '2024-02-29 12:00:00', '2024-02-29 12:00:00+00', '1 day', "
    "'6b1a2c3d-0000-4000-8000-000000000001', '1', 'sad', 'a=>1', '{{1}}', '(1,2)', B'1', B'10101', '10:11:12+00', "
    "5.25, '10.0.0.1')"
)
ODD = [
    """INSERT INTO shop.odd (id, a_bit_12, a_timestamptz, a_timestamptz_0, a_timestamptz_3, a_timestamp, a_date,
    a_timetz, a_timetz_3, a_real, a_double, a_tsvector, a_box, some_inets, a_macaddr8, some_timetzs, some_times,
    some_byteas, some_numerics, some_chars, an_interval, a_real_array, long_bit, a_regclass, a_varbit, a_numeric)
    VALUES ({id},
    B'000000000101', '2024-02-29 13:45:01+00', '2024-02-29 13:45:01+00', '2024-02-29 13:45:01.120+00',
    '0044-03-15 10:00:00 BC', '0044-03-15 BC', '13:45:00+00', '13:45:01.120-03', 'NaN', '-Infinity', 'a fat cat',
    '((1,1),(0,0))', '{{10.0.0.1}}', '08:00:2b:01:02:03:04:05', '{{13:45:00+00}}', '{{13:45:00.5}}',
    '{{"\\\\x00"}}', '{{1.50,2,700,0.00}}', '{{a,bc}}', '1 mon -1 days', '{{NaN,1}}', repeat('01', 35)::bit(70),
    'pg_class', B'1100110011', 1200)""",
    """INSERT INTO shop.odd (id, a_timestamptz, a_timestamp, a_timestamp_3, a_date, a_real, a_double, an_interval,
    a_varbit, a_numeric) VALUES ({id}, 'infinity', '-infinity', 'infinity', 'infinity', 'Infinity', 'NaN', '-1 year',
    B'', -0.10)""",
    """INSERT INTO shop.odd (id, a_timestamptz, a_date, a_timestamp) VALUES
    ({id}, '0044-03-15 10:00:00+00 BC', '-infinity', '12024-02-29 12:00:00')""",
]

SNAPSHOT = [
    """INSERT INTO shop."Strange-Näme 1" VALUES (1, 9, 'x', 2)""",
    STRICT.format(id=1),
    "INSERT INTO shop.defaults (id, seen, any_price) VALUES (1, '2024-02-29 12:00:00', NULL)",
    *(sql.format(id=number) for number, sql in enumerate(ODD, 1)),
    "INSERT INTO shop.unique_only VALUES (1, 'x', 2)",
    "INSERT INTO shop.split VALUES (1, 1, 'snapshot')",
    *(sql.format(id=number) for number, sql in enumerate(EVERYTHING, 1)),
    """INSERT INTO shop.order_line VALUES ('first', 1, 10, 5), (NULL, 2, 10, 6)""",
    "INSERT INTO shop.full_row VALUES (1, 'one', 1.10)",
    "INSERT INTO shop.no_key VALUES ('a', 1)",
    """INSERT INTO shop.large VALUES (1, 1, repeat('x', 20000), decode(repeat('ab', 20000), 'hex'),
    ARRAY[repeat('y', 20000)])""",
    "INSERT INTO shop.changing VALUES (1, 'before')",
]

CHANGES = [
    "DELETE FROM shop.strict WHERE id = 1",
    STRICT.format(id=2),
    "DELETE FROM shop.defaults WHERE id = 1",
    *(sql.format(id=number) for number, sql in enumerate(ODD, 11)),
    "INSERT INTO shop.unique_only VALUES (2, 'y', 3)",
    "INSERT INTO shop.split VALUES (2, 1, 'stream')",
    *(sql.format(id=number) for number, sql in enumerate(EVERYTHING, 11)),
    "UPDATE shop.everything SET a_text = 'changed', an_integer = NULL WHERE id = 11",
    "DELETE FROM shop.everything WHERE id = 12",
    "INSERT INTO shop.order_line VALUES ('third', 3, 10, 7)",
    """UPDATE shop.order_line SET quantity = 8 WHERE line = 3""",
    """UPDATE shop.order_line SET line = 4 WHERE line = 3""",  # the key changes
    """DELETE FROM shop.order_line WHERE line = 4""",
    "UPDATE shop.full_row SET word = 'uno' WHERE id = 1",
    "DELETE FROM shop.full_row WHERE id = 1",
    "INSERT INTO shop.no_key VALUES ('b', 2)",
    "UPDATE shop.large SET number = 2 WHERE id = 1",  # what is large does not come along
    "ALTER TABLE shop.changing ADD COLUMN price numeric(6, 2) DEFAULT 1.5, ADD COLUMN day date",
    "INSERT INTO shop.changing VALUES (2, 'after', 2.5, '2024-02-29')",
    "ALTER TABLE shop.changing DROP COLUMN word",
    "INSERT INTO shop.changing VALUES (3, 3.5, NULL)",
    """BEGIN; INSERT INTO shop.changing VALUES (4, 4, NULL); UPDATE shop.changing SET price = 5 WHERE id = 4;
    DELETE FROM shop.changing WHERE id = 4; COMMIT""",
    "TRUNCATE shop.changing",
    "INSERT INTO shop.changing VALUES (99, 0, NULL)",  # the last change
]
LAST = 99

#: Keys beside those that say where the database is, by a name for the test.
MODES = {
    "defaults": {},
    "connect": {
        "decimal.handling.mode": "string",
        "time.precision.mode": "connect",
        "binary.handling.mode": "base64",
        "hstore.handling.mode": "map",
        "interval.handling.mode": "string",
        "tombstones.on.delete": "false",
        "skipped.operations": "none",
    },
    "micro": {
        "decimal.handling.mode": "double",
        "time.precision.mode": "adaptive_time_microseconds",
        "binary.handling.mode": "hex",
        "include.unknown.datatypes": "true",
        "message.key.columns": "shop.no_key:word;shop.order_line:note,line",
        "column.exclude.list": "shop.everything.a_text,shop.full_row.price",
        "unavailable.value.placeholder": "gone",
        "schema.name.adjustment.mode": "avro",
        "field.name.adjustment.mode": "avro",
    },
}
