"""The pipeline cases of test/golden/image."""

from image_pipeline_case import Pipeline, call, single
from image_pipeline_cases_control import CONTROL
from image_pipeline_cases_flux import FLUX
from image_pipeline_cases_flux2 import FLUX2
from image_pipeline_cases_hunyuan import HUNYUAN
from image_pipeline_cases_limits import EMPTY, LIMITED
from image_pipeline_cases_lumina2 import LUMINA2
from image_pipeline_cases_ltx import LTX
from image_pipeline_cases_pixart import PIXART
from image_pipeline_cases_qwen import QWEN
from image_pipeline_cases_sana import SANA
from image_pipeline_cases_sd3 import SD3
from image_pipeline_cases_wan import WAN
from image_pipeline_cases_xl import XL
from image_tokenizer import PROMPTS

SD, IMG2IMG, INPAINT = 'StableDiffusionPipeline', 'StableDiffusionImg2ImgPipeline', 'StableDiffusionInpaintPipeline'
SEA = ' '.join(PROMPTS[15].split()[:36])  # more than half a window
PIPELINES = XL | EMPTY | LIMITED | QWEN | FLUX | FLUX2 | CONTROL | SD3 | SANA | PIXART | LUMINA2 | WAN | LTX | HUNYUAN | {
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
    'pipeline-z-image': Pipeline(
        'ZImagePipeline', 'z-image', 'guidance 0: one pass; 35 image tokens', call(0, None, guidance=0.0), seeds=(17, 18)
    ),
    'pipeline-z-image-guided': Pipeline(
        'ZImagePipeline',
        'z-image',
        'guidance 3: positive + 3 (positive - negative); captions of different padded length',
        call(2, 'blurry', guidance=3.0, height=32, width=64),
        seeds=(19,),
    ),
    'pipeline-sd1-masked-ancestral': single(
        INPAINT,
        'sd1',
        'inpainting with noise in each step: what the mask leaves is encoded after the first noise, and draws too',
        call(5, steps=4, strength=0.5),
        20,
        scheduler='EulerAncestralDiscreteScheduler',
        picture=True,
        mask=True,
    ),
    'pipeline-sd1-masked-dpm2': single(
        INPAINT,
        'sd1',
        'inpainting with two calls a step, of which only the second draws noise',
        call(5, steps=4, strength=0.5),
        41,
        scheduler='KDPM2AncestralDiscreteScheduler',
        picture=True,
        mask=True,
    ),
    'pipeline-sd1-cuda': single(
        SD, 'sd1', "starts from the noise of torch's CUDA generator", call(0, height=24, width=32), 21, noise='cuda'
    ),
    'pipeline-sd1-tiny-autoencoder': single(
        IMG2IMG,
        'sd1',
        'AutoencoderTiny both ways: its latents are no sample, and draw nothing',
        call(1, steps=4, height=None, strength=0.5),
        22,
        scheduler='DDIMScheduler',
        components={'vae': 'autoencoder-tiny'},
        picture=True,
    ),
    'pipeline-sd2-image': single(
        IMG2IMG,
        'sd2',
        'image-to-image with v-prediction and trailing timesteps',
        call(1, steps=4, guidance=5.0, height=None, strength=0.5),
        23,
        picture=True,
    ),
    'pipeline-sd1-tcd': single(
        SD,
        'sd1',
        "TCD by the pipeline's own eta, which is 0: the scheduler's own would draw noise",
        call(2, None, steps=3, height=24, width=32),
        52,
        scheduler='TCDScheduler',
    ),
    'pipeline-lcm': single(
        'LatentConsistencyModelPipeline',
        'sd1',
        'the class of distilled models, with another number of distilled steps',
        call(3, None, steps=3, guidance=8.5, height=24, width=32, original_inference_steps=20),
        24,
        scheduler='LCMScheduler',
        components={'unet': 'unet-lcm'},
    ),
    'pipeline-lcm-image': single(
        'LatentConsistencyModelImg2ImgPipeline',
        'sd1',
        'all four steps, spread over the first half of the trained ones',
        call(3, None, steps=4, guidance=8.5, height=None, strength=0.5),
        25,
        scheduler='LCMScheduler',
        components={'unet': 'unet-lcm'},
        picture=True,
    ),
    'pipeline-sd1-image-timesteps': single(
        IMG2IMG,
        'sd1',
        'timesteps of a list, of which the strength leaves three: their number is the number of steps',
        call(3, steps=9, height=None, strength=0.6, timesteps=[999, 850, 560, 300, 90]),
        32,
        scheduler='DPMSolverMultistepScheduler',
        picture=True,
    ),
    'pipeline-sd1-masked-crop': single(
        INPAINT,
        'sd1',
        'only what lies around the mask is drawn, larger than it was, and laid back into the picture',
        call(5, steps=4, strength=0.6, height=48, width=64, padding_mask_crop=2),
        37,
        scheduler='DDIMScheduler',
        picture=True,
        mask=True,
    ),
    'pipeline-z-image-image': single(
        'ZImageImg2ImgPipeline',
        'z-image',
        'image-to-image, strength 0.6 of 4 steps: three are taken',
        call(0, None, steps=4, guidance=0.0, height=None, strength=0.6),
        29,
        picture=True,
    ),
    'pipeline-z-image-masked': single(
        'ZImageInpaintPipeline',
        'z-image',
        'inpainting, strength 0.6 of 4 steps: what is kept is mixed with noise and put back at each step',
        call(0, None, steps=4, guidance=0.0, strength=0.6),
        45,
        picture=True,
        mask=True,
    ),
    'pipeline-z-image-truncated': single(
        'ZImagePipeline',
        'z-image',
        'guidance up to a fifth of the way, its result no longer than the prediction that it began from',
        call(2, 'blurry', steps=4, guidance=4.0, height=32, width=40, cfg_normalization=True, cfg_truncation=0.2),
        46,
    ),
    'pipeline-sd2-masked': single(
        INPAINT,
        'sd2',
        'inpainting with v-prediction and trailing timesteps',
        call(1, steps=4, guidance=5.0, strength=0.75),
        47,
        picture=True,
        mask=True,
    ),
    'pipeline-sd2-inpaint': single(
        INPAINT,
        'sd2',
        'inpainting with a nine-channel UNet and v-prediction, from noise alone',
        call(4, steps=3, guidance=5.0, strength=1.0),
        48,
        components={'unet': 'sd1-inpaint/unet'},
        picture=True,
        mask=True,
    ),
    'pipeline-sd1-inpaint-ancestral': single(
        INPAINT,
        'sd1-inpaint',
        'inpainting with a nine-channel UNet from noised latents of the picture, with noise in each step',
        call(5, steps=4, strength=0.6),
        49,
        scheduler='EulerAncestralDiscreteScheduler',
        picture=True,
        mask=True,
    ),
    'pipeline-sd1-emphasis': single(
        SD,
        'sd1',
        'a prompt of more than a window, whose weights reach across the border; what is not wanted is filled up',
        call(height=24, width=32)
        | {'prompt': f'a (red:1.5) house, {SEA} (by {SEA}:0.6)', 'negative_prompt': '[blurry], text'},
        50,
        emphasis={
            'prompt': [[('a ', 1), ('red', 1.5), (f' house, {SEA} ', 1), (f'by {SEA}', 0.6)]],
            'negative_prompt': [[('blurry', 1 / 1.1), (', text', 1)]],
        },
    ),
}
