"""Pipeline cases of clean latents that are limited at each step, and of empty prompts."""

from image_pipeline_case import call, single

SD, SDXL = 'StableDiffusionPipeline', 'StableDiffusionXLPipeline'
LIMITED = {
    'pipeline-sdxl-clipped': single(
        SDXL,
        'sdxl',
        'DDIM that clips the clean latents; noise is not derived anew',
        call(1, steps=4, height=24, width=32),
        61,
        scheduler='DDIMScheduler',
        settings={'clip_sample': True, 'clip_sample_range': 0.8},
    ),
    'pipeline-sd1-thresholded': single(
        SD,
        'sd1',
        'UniPC over thresholded clean latents',
        call(2, steps=4, height=24, width=32),
        62,
        scheduler='UniPCMultistepScheduler',
        settings={'thresholding': True, 'dynamic_thresholding_ratio': 0.9, 'sample_max_value': 3.0},
    ),
}
EMPTY = {
    'pipeline-sd1-empty': single(SD, 'sd1', 'an empty prompt', call(height=24, width=32) | {'prompt': ''}, 63),
    'pipeline-sdxl-empty': single(
        SDXL, 'sdxl', 'an empty prompt is encoded, nothing unwanted is zeros', call(0, None, height=24, width=32) | {'prompt': ''}, 64
    ),
    'pipeline-z-image-empty': single(
        'ZImagePipeline', 'z-image', 'an empty prompt in its template', call(0, None, guidance=0.0, height=32, width=40) | {'prompt': ''}, 65
    ),
}
