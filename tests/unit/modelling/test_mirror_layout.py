"""Where models lie in Redis, and that a stranger's bytes there hurt nobody."""

from services.modelling.mirror_layout import hash_of, models_in
from topics.catalogue import MODELS
from topics.messages import LinkModel, Model, RateModel


def test_all_models_of_a_kind_and_flow_lie_in_one_hash() -> None:
    """A leader reads the rates of its flow with one question."""
    assert "stig:models:rate/talk" == hash_of("rate/talk/tcp") == hash_of("rate/talk/udp")
    assert "stig:models:service/talk" == hash_of("service/talk/tcp/edge-1")
    assert "stig:models:slack/talk" == hash_of("slack/talk")
    assert "stig:models:link/edge-1" == hash_of("link/edge-1/broker/2")


def test_models_come_back_sorted_without_what_is_no_model() -> None:
    """Redis is a cache that others may write to: one bad field must not hide the good ones."""
    models = [
        Model("rate/talk/b", 7, 120, 3, None, 1, 0, RateModel("talk", "s", "b", 1.0, 2.0, 10)),
        Model("link/a/b", 7, 120, 3, 0.5, 1, 0, LinkModel("a", "b", 1.0, 2.0, 0.5, 0.0)),
    ]
    values = {model.key.encode(): MODELS.codec.encode(model, topic="t") for model in models}
    found = list(models_in({**values, b"rate/talk/c": b"\xff", b"rate/talk/d": b"{}"}))
    assert [models[1], models[0]] == found
