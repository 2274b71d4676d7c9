"""Pipeline cases of FLUX.2."""

from functools import partial

from image_pipeline_case import Pipeline
from image_tokenizer import PROMPTS


def call(prompt=0, steps=3, guidance=4.0, height=40, width=56, **more):
    wanted = {'prompt': PROMPTS[prompt], 'num_inference_steps': steps, 'guidance_scale': guidance, 'max_sequence_length': 60, **more}
    return wanted | ({'height': height, 'width': width} if height else {})


klein = partial(Pipeline, 'Flux2KleinPipeline', 'flux2-klein')
FLUX2 = {
    'pipeline-flux2': Pipeline(
        'Flux2Pipeline',
        'flux2',
        'the guidance scale as an input; a text behind padding that sees nothing, in a conversation with a system message; an image beside the latents',
        call(9, guidance=2.5, height=None, max_sequence_length=240),
        seeds=(116,),
        components={'vae': 'flux2-klein/vae'},
        picture=True,
        sides=(64, 80),
        size=(64, 80),
    ),
    'pipeline-flux2-cut': Pipeline(
        'Flux2Pipeline',
        'flux2',
        'a text that is cut, so that nothing fills it up',
        call(9, guidance=2.5, max_sequence_length=48),
        seeds=(117,),
        components={'vae': 'flux2-klein/vae'},
    ),
    'pipeline-flux2-klein-guided': klein(
        'two passes, the second with an empty text; a long prompt that is cut; the shift by tokens and steps',
        call(15),
        seeds=(111,),
    ),
    'pipeline-flux2-klein': klein(
        'one pass of 140 tokens; padding of the text takes part; states after other layers, the last of them normalized',
        call(guidance=1.0, text_encoder_out_layers=[2, 7, 28]),
        seeds=(112, 113),
    ),
    'pipeline-flux2-klein-reference': klein(
        'an image beside the latents, cut to whole tokens; its size is drawn',
        call(2, guidance=1.0, height=None),
        seeds=(114,),
        picture=True,
        sides=(70, 90),
        size=(68, 88),
    ),
    'pipeline-flux2-klein-references': klein(
        'two images beside the latents, at places of their own; guidance',
        call(4, height=48, width=40),
        seeds=(115,),
        picture=True,
        sides=(64, 80),
        further=1,
    ),
}
