"""Tables of MariaDB with every common type, and changes to them, for comparing what change capture makes of them."""

SCHEMA = [
    """CREATE TABLE everything (
    id int AUTO_INCREMENT PRIMARY KEY,
    a_tinyint tinyint, a_tinyint_1 tinyint(1), a_boolean boolean DEFAULT true, a_tinyint_u tinyint unsigned,
    a_smallint smallint, a_smallint_u smallint unsigned, a_mediumint mediumint, a_mediumint_u mediumint unsigned,
    an_int int, an_int_u int unsigned, an_int_z int(7) zerofill, a_bigint bigint NOT NULL DEFAULT 7,
    a_bigint_u bigint unsigned, a_decimal decimal(9, 3), a_decimal_5 decimal(5), a_decimal_u decimal(30, 10) unsigned,
    a_numeric numeric, a_float float, a_float_7_3 float(7, 3), a_double double, a_double_u double unsigned, a_real real,
    a_bit bit, a_bit_5 bit(5), a_bit_12 bit(12), a_bit_64 bit(64),
    a_date date, a_time time, a_time_3 time(3), a_time_6 time(6), a_year year,
    a_datetime datetime, a_datetime_1 datetime(1), a_datetime_3 datetime(3), a_datetime_6 datetime(6),
    a_timestamp timestamp NULL, a_timestamp_2 timestamp(2) NULL, a_timestamp_6 timestamp(6) NULL,
    a_char char(5), a_varchar varchar(40) DEFAULT 'none', a_varchar_long varchar(1000),
    a_tinytext tinytext, a_text text, a_mediumtext mediumtext, a_longtext longtext,
    a_latin varchar(20) CHARACTER SET latin1, an_ucs char(4) CHARACTER SET ucs2,
    a_binary binary(5), a_varbinary varbinary(40), a_tinyblob tinyblob, a_blob blob, a_mediumblob mediumblob,
    a_longblob longblob,
    an_enum enum('sad', 'ok', 'very happy'), a_set set('a', 'b', 'c d'), a_json json
) CHARACTER SET utf8mb4""",
    """CREATE TABLE order_line (
    note text, line int NOT NULL, `Order Id` bigint NOT NULL, quantity int NOT NULL DEFAULT 1,
    PRIMARY KEY (`Order Id`, line)
)""",
    "CREATE TABLE no_key (word varchar(20), number int)",
    """CREATE TABLE strict (
    id int PRIMARY KEY, a_tinyint tinyint NOT NULL, a_smallint smallint NOT NULL, a_bigint_u bigint unsigned NOT NULL,
    a_float float NOT NULL, a_double double NOT NULL, a_boolean boolean NOT NULL, a_text text NOT NULL,
    a_decimal decimal(9, 3) NOT NULL, a_blob blob NOT NULL, a_date date NOT NULL, a_time time NOT NULL,
    a_datetime datetime NOT NULL, a_datetime_6 datetime(6) NOT NULL, a_timestamp timestamp NOT NULL,
    a_year year NOT NULL, an_enum enum('sad', 'ok') NOT NULL, a_set set('a', 'b') NOT NULL, a_bit bit NOT NULL,
    a_bit_5 bit(5) NOT NULL, a_binary binary(4) NOT NULL
)""",
    """CREATE TABLE defaults (
    id bigint AUTO_INCREMENT PRIMARY KEY, made timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
    seen datetime DEFAULT CURRENT_TIMESTAMP, seen_6 datetime(6) DEFAULT CURRENT_TIMESTAMP(6),
    word varchar(20) NOT NULL DEFAULT 'x', quoted varchar(10) DEFAULT 'it''s', price decimal(6, 2) NOT NULL DEFAULT 1.5,
    day date DEFAULT '2024-02-29', clock time DEFAULT '12:30:00', at datetime DEFAULT '2024-02-29 12:30:01',
    at_3 datetime(3) NOT NULL DEFAULT '2024-02-29 12:30:01.5', at_ts timestamp NULL DEFAULT '2024-02-29 12:30:01',
    feeling enum('sad', 'ok') DEFAULT 'ok', some set('a', 'b') DEFAULT 'a,b', yes boolean NOT NULL DEFAULT false,
    small smallint DEFAULT -3, big bigint unsigned DEFAULT 18446744073709551615, ratio float DEFAULT 0.5,
    double_ratio double NOT NULL DEFAULT -0.25, flag bit DEFAULT b'1', flags bit(3) DEFAULT b'101',
    data binary(3) DEFAULT 'abc', year year DEFAULT 2024, sum int DEFAULT (1 + 2), nothing int DEFAULT NULL,
    empty varchar(3) DEFAULT '', made_of int AS (small + 1) STORED, virtual_one int AS (small + 2) VIRTUAL
)""",
    """CREATE TABLE odd (
    id int PRIMARY KEY, a_date date, a_date_nn date NOT NULL, a_datetime datetime, a_datetime_nn datetime NOT NULL,
    a_datetime_6 datetime(6), a_timestamp timestamp NULL, a_timestamp_nn timestamp NOT NULL DEFAULT '2024-01-01',
    a_time time(6), a_year year, an_enum enum('a', '', 'b,c', 'd''e'), a_set set('x', 'y'), a_bigint_u bigint unsigned,
    a_float float, a_double double, a_blob blob, a_bit_64 bit(64), a_decimal decimal(65, 30), a_text text
)""",
    "CREATE TABLE unique_only (a int NOT NULL, b varchar(10) NOT NULL, c int, UNIQUE (b, a))",
    "CREATE TABLE two_uniques (a int NOT NULL, b int NOT NULL, c int, UNIQUE z (c), UNIQUE y (b), UNIQUE x (a))",
    "CREATE TABLE indexed_later (a int NOT NULL, b int NOT NULL)",
    "CREATE TABLE shapes (id int PRIMARY KEY, a_point point, a_line linestring, any_shape geometry)",
    "CREATE TABLE `Strange-Näme 1` (id int PRIMARY KEY, `9 lives` int, `a.b-c` text, `größe` int)",
    "CREATE TABLE changing (id int PRIMARY KEY, word varchar(20))",
    "CREATE TABLE not_captured (id int PRIMARY KEY)",
]

EVERYTHING = [
    """INSERT INTO everything VALUES (
    {id}, -12, 1, false, 250, -1200, 65000, -8000000, 16000000, -70000, 4000000000, 42, 5000000000,
    18446744073709551615, 123.456, 12345, 12345678901234567890.0123456789, 42, 1.5, 1234.567, -2.25e100, 2.5, 0.1,
    b'1', b'10110', b'101100000001', b'1000000000000000000000000000000000000000000000000000000000000001',
    '2024-02-29', '13:45:01', '13:45:01.123', '13:45:01.123456', 2024,
    '2024-02-29 13:45:01', '2024-02-29 13:45:01.5', '2024-02-29 13:45:01.123', '2024-02-29 13:45:01.123456',
    '2024-02-29 13:45:01', '2024-02-29 13:45:01.25', '2024-02-29 13:45:01.123456',
    'abc', 'grüße, "Welt" 😀', 'long', 'tiny', 'text', 'medium', 'long', 'grüße', 'süß',
    X'00ff10', X'00ff1000', X'00', X'ff', X'0102', X'0304',
    'very happy', 'a,c d', '{{"a": [1, 2.5, "x"], "b": null}}'
)""",
    "INSERT INTO everything (id, a_varchar, a_boolean) VALUES ({id}, NULL, NULL)",
    """INSERT INTO everything (id, a_tinyint, a_smallint, a_mediumint, an_int, a_bigint, a_bigint_u, a_decimal,
    a_decimal_5, a_float, a_double, a_bit_5, a_date, a_time, a_time_3, a_time_6, a_year, a_datetime, a_datetime_6,
    a_timestamp, a_char, a_varchar, a_text, a_binary, a_varbinary, a_blob, a_set)
    VALUES ({id}, -128, -32768, -8388608, -2147483648, -9223372036854775808, 0, -999999.999, -99999, 0.1, 1e-300,
    b'0', '0001-01-01', '-01:02:03', '-838:59:58.999', '838:59:59.000001', 1901, '1969-12-31 23:59:59',
    '1969-12-31 23:59:59.999999', '1970-01-01 00:00:01', '', '', '', '', '', '', '')""",
    """INSERT INTO everything (id, a_decimal, a_decimal_u, a_datetime, a_datetime_6, a_date, a_timestamp_6, a_year,
    a_time, a_float_7_3, a_float)
    VALUES ({id}, -0.001, 0, '9999-12-31 23:59:59', '1000-01-01 00:00:00.000001', '9999-12-31',
    '2038-01-19 03:14:07.999999', 2155, '23:59:59', -9999.999, -3.4e38)""",
]

STRICT = (
    "INSERT INTO strict VALUES ({id}, 1, 2, 3, 4.5, 6.5, true, 'five', 6.5, X'08', '2024-02-29', '10:11:12', "
    "'2024-02-29 12:00:00', '2024-02-29 12:00:00.000001', '2024-02-29 12:00:00', 2024, 'sad', 'a', b'1', b'10101', "
    "X'0102')"
)
ODD = [
    """INSERT INTO odd VALUES ({id}, '0000-00-00', '0000-00-00', '0000-00-00', '0000-00-00', '0000-00-00',
    '0000-00-00', '0000-00-00', '-00:00:00.000001', 1970, '', '', 18446744073709551615, 1e10, 123456789.123456789, '',
    b'0', 12345678901234567890123456789012345.123456789012345678901234567890, 'x')""",
    """INSERT INTO odd VALUES ({id}, '2024-00-00', '2024-01-01', NULL, '2024-01-01 10:00:00', NULL, NULL,
    '2024-01-01 10:00:00', '00:00:00', 1999, 'b,c', 'x,y', 9223372036854775808, 16777217, 0.1, X'00', b'1',
    -0.000000000000000000000000000001, NULL)""",
    """INSERT INTO odd (id, a_date_nn, a_datetime_nn, an_enum, a_float, a_decimal) VALUES
    ({id}, '2024-01-01', '2024-01-01 10:00:00', 'd''e', 1.17549e-38, 100)""",
]
#: Zero dates are refused in the server's own mode.
LAX = "SET sql_mode = 'ALLOW_INVALID_DATES'"

SNAPSHOT = [
    "INSERT INTO `Strange-Näme 1` VALUES (1, 9, 'x', 2)",
    STRICT.format(id=1),
    "INSERT INTO defaults (id, made, seen, seen_6) VALUES (1, '2024-02-29 12:00:00', '2024-02-29 12:00:00', NULL)",
    *(sql.format(id=number) for number, sql in enumerate(ODD, 1)),
    "INSERT INTO unique_only VALUES (1, 'x', 2)",
    "INSERT INTO two_uniques VALUES (1, 2, 3)",
    "INSERT INTO indexed_later VALUES (1, 2)",
    *(sql.format(id=number) for number, sql in enumerate(EVERYTHING, 1)),
    "INSERT INTO order_line VALUES ('first', 1, 10, 5), (NULL, 2, 10, 6)",
    "INSERT INTO no_key VALUES ('a', 1)",
    "INSERT INTO shapes VALUES (1, Point(1.5, -2), LineString(Point(0, 0), Point(1, 1)), Point(3, 4))",
    "INSERT INTO shapes VALUES (2, NULL, NULL, NULL)",
    "INSERT INTO changing VALUES (1, 'before')",
    "INSERT INTO not_captured VALUES (1)",
]

CHANGES = [
    "DELETE FROM strict WHERE id = 1",
    STRICT.format(id=2),
    "DELETE FROM defaults WHERE id = 1",
    "INSERT INTO defaults (id, made, seen, seen_6) VALUES (2, '2024-02-29 12:00:00', '2024-02-29 12:00:00', NULL)",
    *(sql.format(id=number) for number, sql in enumerate(ODD, 11)),
    "INSERT INTO unique_only VALUES (2, 'y', 3)",
    "INSERT INTO two_uniques VALUES (2, 3, 4)",
    "CREATE UNIQUE INDEX one ON indexed_later (b)",
    "INSERT INTO indexed_later VALUES (2, 3)",
    *(sql.format(id=number) for number, sql in enumerate(EVERYTHING, 11)),
    "UPDATE everything SET a_varchar = 'changed', an_int = NULL WHERE id = 11",
    "DELETE FROM everything WHERE id = 12",
    "INSERT INTO not_captured VALUES (2)",
    "INSERT INTO order_line VALUES ('third', 3, 10, 7)",
    "UPDATE order_line SET quantity = 8 WHERE line = 3",
    "UPDATE order_line SET line = 4 WHERE line = 3",  # the key changes
    "DELETE FROM order_line WHERE line = 4",
    "INSERT INTO order_line VALUES ('a', 5, 10, 1), ('b', 6, 10, 2)",
    "UPDATE order_line SET quantity = quantity + 1 WHERE line IN (5, 6)",
    "INSERT INTO no_key VALUES ('b', 2)",
    "UPDATE no_key SET number = 3 WHERE word = 'b'",
    "DELETE FROM no_key WHERE word = 'b'",
    "INSERT INTO shapes VALUES (3, Point(1.5, -2), LineString(Point(0, 0), Point(1, 1)), Point(3, 4))",
    """INSERT INTO shapes VALUES (4, ST_PointFromText('POINT(1 2)', 4326), NULL,
    ST_GeomFromText('POLYGON((0 0,1 0,1 1,0 0))'))""",
    "ALTER TABLE changing ADD COLUMN price decimal(6, 2) NOT NULL DEFAULT 1.5, ADD COLUMN day date AFTER id",
    "INSERT INTO changing VALUES (2, '2024-02-29', 'after', 2.5)",
    "ALTER TABLE changing DROP COLUMN word",
    "INSERT INTO changing VALUES (3, NULL, 3.5)",
    "ALTER TABLE changing CHANGE COLUMN price cost decimal(8, 3) NULL, MODIFY COLUMN day datetime(3)",
    "INSERT INTO changing VALUES (4, '2024-02-29 01:02:03.5', 4.125)",
    "ALTER TABLE changing RENAME COLUMN cost TO expense",
    "INSERT INTO changing VALUES (5, NULL, NULL)",
    "RENAME TABLE changing TO changed",
    "INSERT INTO changed VALUES (6, NULL, 6)",
    "CREATE TABLE made_later (id int unsigned NOT NULL, word char(3) DEFAULT 'x', KEY (word), PRIMARY KEY (id))",
    "INSERT INTO made_later VALUES (1, 'a')",
    "DROP TABLE made_later",
    "CREATE TABLE made_later (name varchar(10) PRIMARY KEY)",
    "INSERT INTO made_later VALUES ('again')",
    "TRUNCATE TABLE changed",
    """BEGIN; INSERT INTO changed VALUES (7, NULL, 4); UPDATE changed SET expense = 5 WHERE id = 7;
    DELETE FROM changed WHERE id = 7; COMMIT""",
    "INSERT INTO changed VALUES (99, NULL, NULL)",  # the last change
]
LAST = 99

#: Keys beside those that say where the database is, by a name for the test.
MODES = {
    "defaults": {},
    "connect": {
        "decimal.handling.mode": "string",
        "time.precision.mode": "connect",
        "binary.handling.mode": "base64",
        "bigint.unsigned.handling.mode": "precise",
        "tombstones.on.delete": "false",
        "skipped.operations": "none",
    },
    "double": {
        "decimal.handling.mode": "double",
        "binary.handling.mode": "hex",
        "message.key.columns": "{database}.no_key:word;{database}.order_line:note,line",
        "column.exclude.list": "{database}.everything.a_text,{database}.strict.a_text",
        "schema.name.adjustment.mode": "avro",
        "field.name.adjustment.mode": "avro",
    },
}
