"""Goldens of step caches, by the hooks of diffusers on the tiny checkpoints:  python scripts/reference/image_step_caches.py [case ...]

test/golden/image/step-caches/cases.json: of each case the pipeline's case whose components and request it has, the arguments that differ, the
settings of the cache, and for each call of the denoiser whether its blocks were computed. outputs.safetensors: the latents behind the last step,
[pictures, channels, height, width], of clips with frames before the sides.
"""

import dataclasses
import json
import sys
from contextlib import contextmanager
from importlib.metadata import version

import diffusers
import torch
from diffusers.hooks import FirstBlockCacheConfig, MagCacheConfig, TaylorSeerCacheConfig
from diffusers.hooks.first_block_cache import FBCHeadBlockHook
from diffusers.hooks.mag_cache import FLUX_MAG_RATIOS, MagCacheHeadHook
from diffusers.hooks.taylorseer_cache import TaylorSeerCacheHook
from safetensors.torch import load_file

import image_pipelines
from image_golden import ROOT, write
from image_pipeline_cases import PIPELINES

FOLDER = ROOT / 'step-caches'
RATIOS = [round(1.0 + 0.02 * (-1) ** i * (i % 4), 4) for i in range(10)]

# name: pipeline, arguments that differ, configuration in diffusers, the same for this engine
CASES = {
    'flux-first-block': (
        'pipeline-flux',
        dict(num_inference_steps=8),
        FirstBlockCacheConfig(threshold=0.63),
        dict(method='first_block', threshold=0.63),
    ),
    'wan-first-block': (
        'pipeline-wan',
        dict(num_inference_steps=8),
        FirstBlockCacheConfig(threshold=0.47),
        dict(method='first_block', threshold=0.47),
    ),
    'qwen-image-first-block': (
        'pipeline-qwen-image',
        dict(num_inference_steps=8),
        FirstBlockCacheConfig(threshold=0.95),
        dict(method='first_block', threshold=0.95),
    ),
    'ltx-first-block': (
        'pipeline-ltx',
        dict(num_inference_steps=8, guidance_scale=1.0, guidance_rescale=0.0),
        FirstBlockCacheConfig(threshold=0.3),
        dict(method='first_block', threshold=0.3),
    ),
    'flux2-mag': (
        'pipeline-flux2',
        dict(num_inference_steps=8),
        MagCacheConfig(threshold=0.1, max_skip_steps=2, retention_ratio=0.25, num_inference_steps=8, mag_ratios=RATIOS),
        dict(method='magcache', threshold=0.1, max_skip_steps=2, retention_ratio=0.25, mag_ratios=RATIOS),
    ),
    'flux-mag': (
        'pipeline-flux',
        dict(num_inference_steps=8),
        MagCacheConfig(threshold=0.3, max_skip_steps=2, num_inference_steps=8, mag_ratios=FLUX_MAG_RATIOS),
        dict(method='magcache', threshold=0.3, max_skip_steps=2, mag_ratios=[round(x, 5) for x in FLUX_MAG_RATIOS.tolist()]),
    ),
    'wan-taylor': (
        'pipeline-wan',
        dict(num_inference_steps=10, guidance_scale=1.0),
        TaylorSeerCacheConfig(cache_interval=3, disable_cache_before_step=3, max_order=2, taylor_factors_dtype=torch.float32, use_lite_mode=True),
        dict(method='taylorseer', cache_interval=3, disable_cache_before_step=3, max_order=2, use_lite_mode=True),
    ),
}


@contextmanager
def watched(computed, changes):
    """Appends whether the blocks of a call were computed, and by how much what the first one adds has changed."""
    own = FBCHeadBlockHook._should_compute_remaining_blocks, MagCacheHeadHook.new_forward, TaylorSeerCacheHook._measure_should_compute

    def first_block(hook, residual):
        if (known := hook.state_manager.get_state().head_block_residual) is not None:
            changes.append(((residual - known).abs().mean() / known.abs().mean()).item())
        computed.append(own[0](hook, residual))
        return computed[-1]

    def magnitude(hook, module, *arguments, **named):
        result = own[1](hook, module, *arguments, **named)
        computed.append(hook.state_manager.get_state().should_compute)
        return result

    def interval(hook):
        computes, state = own[2](hook)
        if not state.is_inactive:
            computed.append(computes)
        return computes, state

    FBCHeadBlockHook._should_compute_remaining_blocks = first_block
    MagCacheHeadHook.new_forward = magnitude
    TaylorSeerCacheHook._measure_should_compute = interval
    yield
    FBCHeadBlockHook._should_compute_remaining_blocks, MagCacheHeadHook.new_forward, TaylorSeerCacheHook._measure_should_compute = own


def made(name):
    pipeline, changed, config, settings = CASES[name]
    base = PIPELINES[pipeline]
    case = dataclasses.replace(base, arguments=base.arguments | changed, seeds=base.seeds[:1])
    plain, computed, changes = image_pipelines.opened, [], []

    def opened(one):
        pipe = plain(one)
        pipe.transformer.enable_cache(config)
        return pipe

    image_pipelines.opened = opened
    try:
        with watched(computed, changes):
            latents = image_pipelines.run(case)[1]
    finally:
        image_pipelines.opened = plain
    uncached = image_pipelines.run(case)[1]
    last = f'latents_{changed["num_inference_steps"]}'
    apart = ((latents[last] - uncached[last]).abs().max() / uncached[last].std()).item()
    print(f'{name:24} computed {"".join(str(int(one)) for one in computed)}  apart from all steps {apart:.2e}', *(f'{change:.3f}' for change in changes), flush=True)
    return latents[last], dict(pipeline=pipeline, arguments=changed, settings=settings, computed=computed)


if __name__ == '__main__':
    path = FOLDER / 'cases.json'
    known = json.loads(path.read_text())['cases'] if path.exists() else {}
    outputs = load_file(FOLDER / 'outputs.safetensors') if path.exists() else {}
    for name in sys.argv[1:] or CASES:
        outputs[name], known[name] = made(name)
    write(FOLDER / 'outputs.safetensors', outputs)
    document = {
        'command': 'python scripts/reference/image_step_caches.py',
        'made_with': {package: version(package) for package in ('torch', 'transformers', 'diffusers')},
        'cases': known,
    }
    path.write_text(json.dumps(document, indent=1) + '\n')
