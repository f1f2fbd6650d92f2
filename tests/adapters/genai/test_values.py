"""What is read from the arguments, contents and results that google-genai passes around."""

from hookline.adapters.genai.turns import make_response


def test_a_response_in_the_models_place_is_complete() -> None:
    response = make_response("no")
    assert response.text == "no"
    [candidate] = response.candidates or []
    assert (candidate.index, str(candidate.finish_reason)) == (0, "FinishReason.STOP")
