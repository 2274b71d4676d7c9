"""The pipeline cases of test/golden/image: which checkpoint, what is asked of it, and what each is for."""

from dataclasses import dataclass, field

from image_tokenizer import PROMPTS

NEGATIVE = PROMPTS[6]


@dataclass
class Pipeline:
    model: str  # class in diffusers
    checkpoint: str
    exercises: str
    arguments: dict  # of the call
    seeds: tuple[int, ...] = (0,)  # one a picture
    scheduler: str = ''  # class that replaces the checkpoint's, with the checkpoint's configuration
    components: dict[str, str] = field(default_factory=dict)  # replaced by those of another checkpoint
    picture: bool = False
    mask: bool = False
    noise: str = 'cpu'  # the generator whose stream the first latents are: cpu, or cuda
    brief: bool = False  # only the last latents and the pixels are kept


def call(prompt=0, negative=NEGATIVE, steps=2, guidance=7.5, height=40, width=56, **more):
    wanted = {'prompt': PROMPTS[prompt], 'num_inference_steps': steps, 'guidance_scale': guidance, **more}
    if negative is not None:
        wanted['negative_prompt'] = negative
    return wanted | ({'height': height, 'width': width} if height else {})


def brief(model, checkpoint, exercises, arguments, seed, **more):
    return Pipeline(model, checkpoint, exercises, arguments, seeds=(seed,), brief=True, **more)


SD, SDXL = 'StableDiffusionPipeline', 'StableDiffusionXLPipeline'
IMG2IMG, INPAINT, Z_IMAGE = 'StableDiffusionImg2ImgPipeline', 'StableDiffusionInpaintPipeline', 'ZImagePipeline'
PIPELINES = {
    'pipeline-sd1': Pipeline(
        SD, 'sd1', 'PNDM: three calls in two steps; two pictures, seeds 0 and 1', call(), seeds=(0, 1)
    ),
    'pipeline-sd1-unguided': Pipeline(
        SD, 'sd1', 'guidance 1: no unconditional pass', call(1, None, guidance=1.0, height=48, width=32), seeds=(7,)
    ),
    'pipeline-sd1-clip-skip': Pipeline(
        SD, 'sd1', 'clip_skip 1 and the final norm, DDIM', call(2, clip_skip=1), seeds=(42,), scheduler='DDIMScheduler'
    ),
    'pipeline-sd1-ancestral': Pipeline(
        SD,
        'sd1',
        'noise at every step comes from the same stream as the first',
        call(4, steps=3, guidance=5.0),
        seeds=(3, 4),
        scheduler='EulerAncestralDiscreteScheduler',
    ),
    'pipeline-sd1-image': Pipeline(
        IMG2IMG,
        'sd1',
        'image-to-image, strength 0.5 of 4 steps: the encoder draws its sample first, then the noise',
        call(1, steps=4, height=None, strength=0.5),
        seeds=(5,),
        scheduler='DDIMScheduler',
        picture=True,
    ),
    'pipeline-sd1-image-pndm': Pipeline(
        IMG2IMG,
        'sd1',
        'image-to-image with PNDM, whose list of timesteps is cut within',
        call(3, steps=5, height=None, strength=0.6),
        seeds=(6,),
        picture=True,
    ),
    'pipeline-sd1-masked': Pipeline(
        INPAINT,
        'sd1',
        'inpainting with a four-channel UNet, strength 0.5 of 4 steps: what is kept is noised and put back at each step',
        call(5, steps=4, strength=0.5),
        seeds=(8,),
        scheduler='DDIMScheduler',
        picture=True,
        mask=True,
    ),
    'pipeline-sd1-masked-full': Pipeline(
        INPAINT,
        'sd1',
        'inpainting with a four-channel UNet, strength 1: starts from noise alone',
        call(5, strength=1.0),
        seeds=(9,),
        scheduler='EulerDiscreteScheduler',
        picture=True,
        mask=True,
    ),
    'pipeline-sd1-inpaint': Pipeline(
        INPAINT,
        'sd1-inpaint',
        'inpainting with a nine-channel UNet: latents, mask, masked latents; clip_sample is not in the file, and DDIM clips',
        call(0, strength=1.0),
        seeds=(10,),
        scheduler='DDIMScheduler',
        picture=True,
        mask=True,
    ),
    'pipeline-sd1-lcm': Pipeline(
        SD,
        'sd1',
        'UNet with guidance embedding: one pass a step, guidance in time_cond; LCM noise between steps',
        call(3, None, steps=2, guidance=8.0),
        seeds=(11,),
        scheduler='LCMScheduler',
        components={'unet': 'unet-lcm'},
    ),
    'pipeline-sd2': Pipeline(
        SD, 'sd2', 'v-prediction, zero terminal SNR, trailing timesteps, DDIM', call(1, guidance=5.0), seeds=(12,)
    ),
    'pipeline-sd2-rescale': Pipeline(
        SD, 'sd2', 'guidance_rescale 0.7', call(4, guidance=7.5, guidance_rescale=0.7, height=32, width=72), seeds=(13,)
    ),
    'pipeline-sdxl': Pipeline(
        SDXL,
        'sdxl',
        "no negative prompt: zeros in its place; sizes in the time embedding are the picture's",
        call(2, None, guidance=5.0),
        seeds=(14,),
    ),
    'pipeline-sdxl-negative': Pipeline(
        SDXL,
        'sdxl',
        'negative prompt, own sizes and crop',
        call(3, guidance=5.0, original_size=(512, 384), target_size=(640, 640), crops_coords_top_left=(8, 120)),
        seeds=(16,),
    ),
    'pipeline-z-image': Pipeline(
        Z_IMAGE, 'z-image', 'guidance 0: one pass; 35 image tokens', call(0, None, guidance=0.0), seeds=(17, 18)
    ),
    'pipeline-z-image-guided': Pipeline(
        Z_IMAGE,
        'z-image',
        'guidance 3: positive + 3 (positive - negative); captions of different padded length',
        call(2, 'blurry', guidance=3.0, height=32, width=64),
        seeds=(19,),
    ),
    'pipeline-sd1-masked-ancestral': brief(
        INPAINT,
        'sd1',
        'inpainting with noise in each step: what the mask leaves is encoded after the first noise, and draws too',
        call(5, steps=4, strength=0.5),
        20,
        scheduler='EulerAncestralDiscreteScheduler',
        picture=True,
        mask=True,
    ),
    'pipeline-sd1-cuda': brief(
        SD, 'sd1', "starts from the noise of torch's CUDA generator", call(0, height=24, width=32), 21, noise='cuda'
    ),
    'pipeline-sd1-tiny-autoencoder': brief(
        IMG2IMG,
        'sd1',
        'AutoencoderTiny both ways: its latents are no sample, and draw nothing',
        call(1, steps=4, height=None, strength=0.5),
        22,
        scheduler='DDIMScheduler',
        components={'vae': 'autoencoder-tiny'},
        picture=True,
    ),
    'pipeline-sd2-image': brief(
        IMG2IMG,
        'sd2',
        'image-to-image with v-prediction and trailing timesteps',
        call(1, steps=4, guidance=5.0, height=None, strength=0.5),
        23,
        picture=True,
    ),
    'pipeline-lcm': brief(
        'LatentConsistencyModelPipeline',
        'sd1',
        'the class of distilled models, with another number of distilled steps',
        call(3, None, steps=3, guidance=8.5, height=24, width=32, original_inference_steps=20),
        24,
        scheduler='LCMScheduler',
        components={'unet': 'unet-lcm'},
    ),
    'pipeline-lcm-image': brief(
        'LatentConsistencyModelImg2ImgPipeline',
        'sd1',
        'all four steps, spread over the first half of the trained ones',
        call(3, None, steps=4, guidance=8.5, height=None, strength=0.5),
        25,
        scheduler='LCMScheduler',
        components={'unet': 'unet-lcm'},
        picture=True,
    ),
    'pipeline-sdxl-image': brief(
        'StableDiffusionXLImg2ImgPipeline',
        'sdxl',
        'image-to-image: sizes and crop of its own, and others of what is not wanted',
        call(
            2,
            steps=4,
            guidance=5.0,
            height=None,
            strength=0.5,
            crops_coords_top_left=(8, 16),
            negative_original_size=(96, 64),
            negative_target_size=(32, 48),
        ),
        26,
        picture=True,
    ),
    'pipeline-sdxl-sizes': brief(
        SDXL,
        'sdxl',
        'sizes and crop of what is not wanted',
        call(
            2,
            guidance=5.0,
            height=24,
            width=32,
            crops_coords_top_left=(8, 16),
            negative_original_size=(96, 64),
            negative_target_size=(32, 48),
        ),
        30,
    ),
    'pipeline-sdxl-masked': brief(
        'StableDiffusionXLInpaintPipeline',
        'sdxl',
        'inpainting with noise in each step',
        call(2, steps=4, guidance=5.0, strength=0.5),
        27,
        scheduler='EulerAncestralDiscreteScheduler',
        picture=True,
        mask=True,
    ),
    'pipeline-sdxl-refiner': brief(
        'StableDiffusionXLImg2ImgPipeline',
        'sdxl-refiner',
        'one text model; five numbers in the time embedding, the last of them an aesthetic score',
        call(
            2,
            steps=4,
            guidance=5.0,
            height=None,
            strength=0.5,
            crops_coords_top_left=(8, 16),
            aesthetic_score=7.5,
            negative_aesthetic_score=1.5,
        ),
        28,
        components={name: f'sdxl/{name}' for name in ('text_encoder_2', 'tokenizer_2', 'vae', 'scheduler')},
        picture=True,
    ),
    'pipeline-sdxl-prompts': brief(
        SDXL,
        'sdxl',
        'another prompt, and another of what is not wanted, for the second text model',
        call(1, guidance=5.0, height=24, width=32, prompt_2=PROMPTS[4], negative_prompt_2=PROMPTS[5]),
        31,
    ),
    'pipeline-sd1-image-timesteps': brief(
        IMG2IMG,
        'sd1',
        'timesteps of a list, of which the strength leaves three: their number is the number of steps',
        call(3, steps=9, height=None, strength=0.6, timesteps=[999, 850, 560, 300, 90]),
        32,
        scheduler='DPMSolverMultistepScheduler',
        picture=True,
    ),
    'pipeline-sdxl-sigmas': brief(
        SDXL,
        'sdxl',
        'sigmas of a list, the last of which the run ends at',
        call(0, guidance=2.0, height=24, width=32, sigmas=[2.0, 0.8, 0.3, 0.1]),
        33,
    ),
    'pipeline-sdxl-end': brief(
        SDXL,
        'sdxl',
        'denoised to six tenths of the way, and decoded with the noise that is left',
        call(2, steps=5, guidance=5.0, height=24, width=32, denoising_end=0.6),
        34,
    ),
    'pipeline-sdxl-image-start': brief(
        'StableDiffusionXLImg2ImgPipeline',
        'sdxl',
        'from four tenths of the way to eight: no noise is drawn but by the steps',
        call(2, steps=5, guidance=5.0, height=None, denoising_start=0.4, denoising_end=0.8),
        35,
        scheduler='EulerAncestralDiscreteScheduler',
        picture=True,
    ),
    'pipeline-sdxl-masked-start': brief(
        'StableDiffusionXLInpaintPipeline',
        'sdxl',
        'from half of the way, the latents of the picture as they are; what the mask keeps is noised after each step',
        call(2, steps=4, guidance=5.0, strength=1.0, denoising_start=0.5),
        36,
        scheduler='HeunDiscreteScheduler',
        picture=True,
        mask=True,
    ),
    'pipeline-sd1-masked-crop': brief(
        INPAINT,
        'sd1',
        'only what lies around the mask is drawn, larger than it was, and laid back into the picture',
        call(5, steps=4, strength=0.6, height=48, width=64, padding_mask_crop=2),
        37,
        scheduler='DDIMScheduler',
        picture=True,
        mask=True,
    ),
    'pipeline-sdxl-masked-crop': brief(
        'StableDiffusionXLInpaintPipeline',
        'sdxl',
        'what lies around the mask, from noise alone and smaller than it was; edges repeated where the picture is not high enough',
        call(2, steps=2, guidance=5.0, strength=1.0, height=32, width=24, padding_mask_crop=8),
        38,
        picture=True,
        mask=True,
    ),
    'pipeline-z-image-image': brief(
        'ZImageImg2ImgPipeline',
        'z-image',
        'image-to-image, strength 0.6 of 4 steps: three are taken',
        call(0, None, steps=4, guidance=0.0, height=None, strength=0.6),
        29,
        picture=True,
    ),
}
