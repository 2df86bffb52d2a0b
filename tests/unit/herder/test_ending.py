"""The time that is left to a worker that stops."""

from connect.herder.ending import Ending


def test_good_byes_have_what_is_left_of_the_graceful_time_and_a_second():
    assert 100 < Ending(100).left() <= 101
    assert 0 < Ending(-10).left() < 0.1
