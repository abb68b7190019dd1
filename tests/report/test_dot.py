from tensaur import report
from tests.small import small_graph


def test_constants_stand_inside_their_users():
    text = report.dot(small_graph())
    assert text.startswith("digraph {")
    assert text.count("{") == text.count("}")
    assert 'label="MatMul\\nw: f32[4,8]"' in text
    assert 'label="x\\nf32[2,4]", shape=ellipse' in text
    assert text.count("->") == 4
