"""Pipeline cases of Stable Diffusion 3 and 3.5."""

from functools import partial

from image_pipeline_case import NEGATIVE, Pipeline
from image_tokenizer import PROMPTS


def call(prompt=0, negative=NEGATIVE, steps=3, guidance=5.0, height=40, width=56, **more):
    wanted = {'prompt': PROMPTS[prompt], 'num_inference_steps': steps, 'guidance_scale': guidance, 'max_sequence_length': 24, **more}
    if negative is not None:
        wanted['negative_prompt'] = negative
    return wanted | {'height': height, 'width': width}


SHARED = {'tokenizer': 'sd1/tokenizer', 'tokenizer_2': 'sd2/tokenizer', 'tokenizer_3': 'flux/tokenizer_2', 'vae': 'z-image/vae'}
TWO = {name: place for name, place in SHARED.items() if name != 'tokenizer_3'} | {
    name: f'sd3/{name}' for name in ('text_encoder', 'text_encoder_2', 'scheduler')
}
case = partial(Pipeline, checkpoint='sd3', components=SHARED)
SD3 = {
    'pipeline-sd3': case(
        'StableDiffusion3Pipeline', exercises='three text encoders; 35 image tokens; a schedule that is shifted twice', arguments=call(), seeds=(101, 102)
    ),
    'pipeline-sd3-prompts': case(
        'StableDiffusion3Pipeline',
        exercises='a prompt for each encoder, the first longer than CLIP reads, and no guidance',
        arguments=call(15, None, guidance=1.0, prompt_2=PROMPTS[1], prompt_3=PROMPTS[2], height=32, width=80),
        seeds=(103,),
    ),
    'pipeline-sd3-dual': Pipeline(
        'StableDiffusion3Pipeline',
        'sd3-dual',
        'two attentions in some blocks; no T5, whose tokens are zeros; a layer of CLIP is skipped for the prompt alone',
        call(4, clip_skip=1),
        seeds=(104,),
        components=TWO,
    ),
    'pipeline-sd3-image': case(
        'StableDiffusion3Img2ImgPipeline',
        exercises='image-to-image, strength 0.6 of 5 steps: three are taken',
        arguments=call(2, steps=5, strength=0.6),
        seeds=(105,),
        picture=True,
    ),
    'pipeline-sd3-masked': case(
        'StableDiffusion3InpaintPipeline',
        exercises='inpainting with a transformer of 16 channels, strength 0.6 of 5 steps',
        arguments=call(3, steps=5, strength=0.6, negative_prompt_2=PROMPTS[1], negative_prompt_3=PROMPTS[2]),
        seeds=(106,),
        picture=True,
        mask=True,
    ),
    'pipeline-sd3-inpaint': case(
        'StableDiffusion3InpaintPipeline',
        exercises='inpainting with a transformer of 33 channels, which takes the mask and the masked latents',
        arguments=call(5, strength=1.0),
        seeds=(107,),
        components=SHARED | {'transformer': 'sd3-inpaint/transformer'},
        picture=True,
        mask=True,
    ),
    'pipeline-sd3-skip': case(
        'StableDiffusion3Pipeline',
        exercises='Heun, whose three steps are five calls: the second and the third are guided away from a pass without the middle block',
        arguments=call(1, skip_guidance_layers=[1], skip_layer_guidance_stop=0.7),
        seeds=(108,),
        scheduler='FlowMatchHeunDiscreteScheduler',
    ),
    'pipeline-sd3-skip-dual': Pipeline(
        'StableDiffusion3Pipeline',
        'sd3-dual',
        'in two of five steps a pass without the blocks of two attentions, the last one included',
        call(4, steps=5, skip_guidance_layers=[0, 2], skip_layer_guidance_scale=1.5, skip_layer_guidance_start=0.1, skip_layer_guidance_stop=0.6),
        seeds=(109,),
        components=TWO,
    ),
}
