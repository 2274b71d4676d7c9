"""Pipeline cases of FLUX.1 and Chroma."""

from functools import partial

from image_pipeline_case import Pipeline
from image_tokenizer import PROMPTS


def call(prompt=0, steps=3, guidance=3.5, height=40, width=56, **more):
    wanted = {'prompt': PROMPTS[prompt], 'num_inference_steps': steps, 'guidance_scale': guidance, 'max_sequence_length': 40, **more}
    return wanted | ({'height': height, 'width': width} if height else {})


SHARED = {'tokenizer': 'sd1/tokenizer', 'text_encoder': 'sd1/text_encoder', 'vae': 'z-image/vae'}
SCHNELL = SHARED | {name: f'flux-schnell/{name}' for name in ('transformer', 'scheduler')}
case = partial(Pipeline, checkpoint='flux', components=SHARED)
DEV = SHARED | {name: f'flux/{name}' for name in ('text_encoder_2', 'tokenizer_2', 'transformer', 'scheduler')}
CONTROL = DEV | {'transformer': 'flux-control/transformer'}
FILL = DEV | {'transformer': 'flux-fill/transformer'}
CHROMA = {'vae': 'z-image/vae', 'text_encoder': 'flux/text_encoder_2', 'tokenizer': 'flux/tokenizer_2'}
chroma = partial(Pipeline, checkpoint='chroma', components=CHROMA)
FLUX = {
    'pipeline-chroma': chroma(
        'ChromaPipeline',
        exercises='true guidance; texts of different lengths with one token of padding each; sigmas of a beta distribution',
        arguments=call(negative_prompt=PROMPTS[6]),
        seeds=(97, 98),
    ),
    'pipeline-chroma-image': chroma(
        'ChromaImg2ImgPipeline',
        exercises='image-to-image, strength 0.6 of 5 steps; no guidance; a text that leaves no room for padding',
        arguments=call(15, steps=5, guidance=1.0, strength=0.6),
        seeds=(99,),
        picture=True,
    ),
    'pipeline-chroma-masked': chroma(
        'ChromaInpaintPipeline',
        exercises='inpainting, strength 0.6 of 5 steps',
        arguments=call(3, steps=5, guidance=2.0, strength=0.6),
        seeds=(100,),
        picture=True,
        mask=True,
    ),
    'pipeline-flux': case('FluxPipeline', exercises='the guidance scale as an input; 35 image tokens, a dynamic shift', arguments=call(), seeds=(91, 92)),
    'pipeline-flux-guided': case(
        'FluxPipeline',
        exercises='true guidance beside the guidance scale: two passes',
        arguments=call(15, negative_prompt=PROMPTS[6], true_cfg_scale=2.5),
        seeds=(93,),
    ),
    'pipeline-flux-image': case(
        'FluxImg2ImgPipeline',
        exercises='image-to-image, strength 0.6 of 5 steps: three are taken',
        arguments=call(2, steps=5, strength=0.6),
        seeds=(94,),
        picture=True,
    ),
    'pipeline-flux-masked': case(
        'FluxInpaintPipeline',
        exercises='inpainting, strength 0.6 of 5 steps',
        arguments=call(3, steps=5, strength=0.6),
        seeds=(95,),
        picture=True,
        mask=True,
    ),
    'pipeline-flux-kontext': case(
        'FluxKontextPipeline',
        checkpoint='flux-kontext',
        exercises='an image beside the latents, in the nearest size of training; true guidance; a size of an area',
        arguments=call(5, negative_prompt=PROMPTS[6], true_cfg_scale=1.5, max_area=40 * 56),
        seeds=(97,),
        picture=True,
        sides=(70, 90),
        components=DEV,
    ),
    'pipeline-flux-kontext-text': case(
        'FluxKontextPipeline',
        checkpoint='flux-kontext',
        exercises='no image',
        arguments=call(6, max_area=48 * 48, height=48, width=48),
        seeds=(98,),
        components=DEV,
    ),
    'pipeline-flux-kontext-masked': case(
        'FluxKontextInpaintPipeline',
        checkpoint='flux-kontext',
        exercises='an image that is filled and seen, at strength 0.6 of 5 steps; its latents are means',
        arguments=call(7, steps=5, strength=0.6, height=None),
        seeds=(99,),
        picture=True,
        sides=(40, 56),
        size=(48, 72),
        mask=True,
        components=DEV,
    ),
    'pipeline-flux-kontext-masked-reference': case(
        'FluxKontextInpaintPipeline',
        checkpoint='flux-kontext',
        exercises='an image that is filled beside one that is seen',
        arguments=call(8, height=None),
        seeds=(100,),
        picture=True,
        sides=(40, 56),
        size=(48, 72),
        further=1,
        mask=True,
        components=DEV,
    ),
    'pipeline-flux-fill': case(
        'FluxFillPipeline',
        checkpoint='flux-fill',
        exercises='the image without the masked part and the mask, folded, beside the latents',
        arguments=call(9, guidance=30.0),
        seeds=(101,),
        picture=True,
        mask=True,
        components=FILL,
    ),
    'pipeline-flux-fill-image': case(
        'FluxFillPipeline',
        checkpoint='flux-fill',
        exercises='filling at strength 0.6 of 5 steps',
        arguments=call(10, guidance=30.0, steps=5, strength=0.6),
        seeds=(103,),
        picture=True,
        mask=True,
        components=FILL,
    ),
    'pipeline-flux-control': case(
        'FluxControlPipeline',
        checkpoint='flux-control',
        exercises='latents of a control image beside those that are denoised',
        arguments=call(11, guidance=10.0),
        seeds=(104,),
        controls=1,
        components=CONTROL,
    ),
    'pipeline-flux-control-image': case(
        'FluxControlImg2ImgPipeline',
        checkpoint='flux-control',
        exercises='a control image and an image to start from, at strength 0.6 of 5 steps',
        arguments=call(12, guidance=10.0, steps=5, strength=0.6),
        seeds=(105,),
        picture=True,
        controls=1,
        components=CONTROL,
    ),
    'pipeline-flux-control-masked': case(
        'FluxControlInpaintPipeline',
        checkpoint='flux-control',
        exercises='a control image beside one that is filled; the masked image draws its noise first',
        arguments=call(13, guidance=10.0, steps=5, strength=0.6),
        seeds=(106,),
        picture=True,
        mask=True,
        controls=1,
        components=CONTROL,
    ),
    'pipeline-flux-schnell': case(
        'FluxPipeline',
        exercises='no guidance input, a static shift of 1',
        arguments=call(4, steps=2, guidance=0.0, height=32, width=80),
        seeds=(96,),
        components=SCHNELL,
    ),
}
