"""Pipeline cases of FLUX.1."""

from functools import partial

from image_pipeline_case import Pipeline
from image_tokenizer import PROMPTS


def call(prompt=0, steps=3, guidance=3.5, height=40, width=56, **more):
    wanted = {'prompt': PROMPTS[prompt], 'num_inference_steps': steps, 'guidance_scale': guidance, 'max_sequence_length': 40, **more}
    return wanted | ({'height': height, 'width': width} if height else {})


SHARED = {'tokenizer': 'sd1/tokenizer', 'text_encoder': 'sd1/text_encoder', 'vae': 'z-image/vae'}
SCHNELL = SHARED | {name: f'flux-schnell/{name}' for name in ('transformer', 'scheduler')}
case = partial(Pipeline, checkpoint='flux', components=SHARED)
FLUX = {
    'pipeline-flux': case('FluxPipeline', exercises='the guidance scale as an input; 35 image tokens, a dynamic shift', arguments=call(), seeds=(91, 92)),
    'pipeline-flux-guided': case(
        'FluxPipeline',
        exercises='true guidance beside the guidance scale: two passes',
        arguments=call(15, negative_prompt=PROMPTS[6], true_cfg_scale=2.5),
        seeds=(93,),
        brief=True,
    ),
    'pipeline-flux-image': case(
        'FluxImg2ImgPipeline',
        exercises='image-to-image, strength 0.6 of 5 steps: three are taken',
        arguments=call(2, steps=5, strength=0.6),
        seeds=(94,),
        brief=True,
        picture=True,
    ),
    'pipeline-flux-masked': case(
        'FluxInpaintPipeline',
        exercises='inpainting, strength 0.6 of 5 steps',
        arguments=call(3, steps=5, strength=0.6),
        seeds=(95,),
        brief=True,
        picture=True,
        mask=True,
    ),
    'pipeline-flux-schnell': case(
        'FluxPipeline',
        exercises='no guidance input, a static shift of 1',
        arguments=call(4, steps=2, guidance=0.0, height=32, width=80),
        seeds=(96,),
        brief=True,
        components=SCHNELL,
    ),
}
