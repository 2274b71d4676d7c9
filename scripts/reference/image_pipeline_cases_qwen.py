"""Pipeline cases of Qwen-Image."""

from image_pipeline_case import Pipeline, single
from image_tokenizer import PROMPTS


def call(prompt=0, negative=PROMPTS[6], steps=3, guidance=4.0, height=40, width=56, **more):
    wanted = {'prompt': PROMPTS[prompt], 'num_inference_steps': steps, 'true_cfg_scale': guidance, **more}
    if negative is not None:
        wanted['negative_prompt'] = negative
    return wanted | ({'height': height, 'width': width} if height else {})


SHARED = {name: f'qwen-image/{name}' for name in ('tokenizer', 'text_encoder', 'vae', 'scheduler')}
QWEN = {
    'pipeline-qwen-image': Pipeline(
        'QwenImagePipeline',
        'qwen-image',
        'true guidance: each token keeps the length of the conditional prediction; 35 image tokens, a dynamic shift with a terminal sigma',
        call(),
        seeds=(71, 72),
    ),
    'pipeline-qwen-image-unguided': single(
        'QwenImagePipeline', 'qwen-image', 'guidance 1: one pass, as the few-step variants take it', call(15, None, guidance=1.0, max_sequence_length=60), 73
    ),
    'pipeline-qwen-image-image': single(
        'QwenImageImg2ImgPipeline',
        'qwen-image',
        'image-to-image, strength 0.6 of 4 steps: three are taken',
        call(2, steps=4, strength=0.6),
        74,
        picture=True,
    ),
    'pipeline-qwen-image-masked': single(
        'QwenImageInpaintPipeline',
        'qwen-image',
        'inpainting, strength 0.6 of 5 steps: what is kept is mixed with noise and put back at each step',
        call(3, steps=5, strength=0.6),
        75,
        picture=True,
        mask=True,
    ),
    'pipeline-qwen-image-edit': single(
        'QwenImageEditPipeline',
        'qwen-image-edit',
        "the image through the vision tower at the size that is drawn, which follows from its sides, and through the autoencoder",
        call(4, guidance=3.0, height=None),
        76,
        components=SHARED | {'transformer': 'qwen-image/transformer'},
        picture=True,
        size=(64, 96),
    ),
    'pipeline-qwen-image-edit-plus': single(
        'QwenImageEditPlusPipeline',
        'qwen-image-edit',
        'two images, each in a size of its own for the tower and another for the autoencoder; their tokens are modulated as at time 0',
        call(6, guidance=2.0, height=64, width=96),
        77,
        components=SHARED,
        picture=True,
        further=1,
    ),
}
