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

import numpy as np
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


# Families that diffusers has no hooks for: what all blocks add is continued by its divided differences in the steps that do not compute.
STEPS = 5
COMPUTED = [True, True, False, True, False]
TAYLOR = dict(method='taylorseer', cache_interval=2, disable_cache_before_step=2, max_order=1)
for family in ('chroma', 'hunyuan', 'lumina2', 'pixart', 'sana', 'sd3', 'z-image'):
    CASES[f'{family}-blocks'] = (f'pipeline-{family}', dict(num_inference_steps=STEPS), None, TAYLOR)
# The deep part of a UNet, around which the first levels are computed always.
CASES['sdxl-deep'] = ('pipeline-sdxl', dict(num_inference_steps=STEPS), None, dict(method='deepcache', cache_interval=2))
CASES['sdxl-deep-levels'] = ('pipeline-sdxl', dict(num_inference_steps=STEPS), None, dict(method='deepcache', cache_interval=3, cache_branch_id=1))
# TeaCache: the polynomial is a line, which suits the tiny models.
TEA = dict(method='teacache', coefficients=[0.5, 0.01], start_skipping=2, end_skipping=-1)
CASES['flux-tea'] = ('pipeline-flux', dict(num_inference_steps=8), None, TEA | dict(teacache_thresh=0.5))
CASES['wan-tea'] = ('pipeline-wan', dict(num_inference_steps=8), None, TEA | dict(teacache_thresh=0.9))
# Guidance in a part of the steps.
CASES['wan-interval'] = ('pipeline-wan', dict(num_inference_steps=STEPS), None, dict(guidance_interval=[0.2, 0.7]))


class Continued:
    """Replaces what the blocks of a transformer give by what they took and a Taylor series of what they added before."""

    def __init__(self, transformer, passes, place):
        self.passes, self.place, self.calls, self.runs = passes, place, 0, [dict(at=[], kept=[]) for _ in range(passes)]
        rows = [getattr(transformer, name) for name in ('transformer_blocks', 'single_transformer_blocks', 'layers', 'blocks') if hasattr(transformer, name)]
        first, last = rows[0][0], rows[-1][-1]
        first.register_forward_pre_hook(self.enter, with_kwargs=True)
        last.register_forward_hook(self.leave)

    def enter(self, _, arguments, named):
        self.taken = named['hidden_states'] if 'hidden_states' in named else arguments[0]

    def leave(self, _, arguments, output):
        step, run = self.calls // self.passes, self.runs[self.calls % self.passes]
        self.calls += 1
        computes = self.computes(step, run)
        image = output[self.place] if isinstance(output, tuple) else output
        count = self.taken.shape[1]
        if computes:
            added = [image[:, -count:] - self.taken]
            if run['at'] and self.order:
                added.append((added[0] - run['kept'][0]) / (step - run['at'][-1]))
            run['kept'], run['at'] = added, [*run['at'], step]
            return output
        since = step - run['at'][-1]
        series = sum(value * since**order for order, value in enumerate(run['kept']))
        image = image.clone()
        image[:, -count:] = self.taken + series
        return (*output[: self.place], image, *output[self.place + 1 :]) if isinstance(output, tuple) else image


    order = 1

    def computes(self, step, run):
        return COMPUTED[step]


class TeaCached(Continued):
    """Reuses until the estimated changes of the input add up to a threshold."""

    order = 0

    def __init__(self, transformer, passes, place, settings, steps, computed):
        super().__init__(transformer, passes, place)
        self.settings, self.steps, self.computed = settings, steps, computed
        if hasattr(transformer, 'condition_embedder'):
            transformer.condition_embedder.register_forward_hook(lambda _, arguments, output: setattr(self, 'probe', output[1]))
        else:
            transformer.transformer_blocks[0].norm1.register_forward_hook(lambda _, arguments, output: setattr(self, 'probe', output[0]))

    def computes(self, step, run):
        known, run['probe'] = run.get('probe'), self.probe
        isInside = self.settings['start_skipping'] - 1 <= step < self.steps + self.settings['end_skipping']
        if known is not None:
            change = ((self.probe - known).abs().mean() / known.abs().mean()).item()
            run['moved'] = run.get('moved', 0) + np.polyval(self.settings['coefficients'], change)
        self.computed.append(bool(known is None or not isInside or run['moved'] >= self.settings['teacache_thresh']))
        if self.computed[-1]:
            run['moved'] = 0
        return self.computed[-1]


class Unguided:
    """Leaves the pass for the negative prompt out of the steps outside of an interval."""

    def __init__(self, pipe, interval, steps):
        self.pipe, self.step, self.scale = pipe, 0, None
        self.inside = [interval[0] * steps <= step < interval[1] * steps for step in range(steps)]
        pipe.transformer.register_forward_pre_hook(self.enter, with_kwargs=True)

    def enter(self, *_):
        if self.scale is None:
            self.scale = self.pipe._guidance_scale
        isFirst = self.pipe.do_classifier_free_guidance is False or not getattr(self, 'half', False)
        if isFirst:
            self.pipe._guidance_scale = self.scale if self.inside[self.step] else 1.0
            self.half = self.inside[self.step]
            self.step += 1
        else:
            self.half = False


class Deep:
    """Replaces what the first of the last up blocks takes by what it took in the last computed step."""

    def __init__(self, unet, levels, interval):
        self.interval, self.calls = interval, 0
        unet.up_blocks[-1 - levels].register_forward_pre_hook(self.enter, with_kwargs=True)

    def enter(self, _, arguments, named):
        if self.calls % self.interval == 0:
            self.kept = named['hidden_states']
        self.calls += 1
        return arguments, named | {'hidden_states': self.kept}


# Passes of a step, and which of a block's results are the states of the image.
PLACES = {'chroma': (2, 0), 'hunyuan': (2, 0), 'lumina2': (2, 0), 'pixart': (1, 0), 'sana': (1, 0), 'sd3': (1, 1), 'z-image': (1, 0)}

TEA_PLACES = {'flux-tea': (1, 1), 'wan-tea': (2, 0)}


def own_cache(name, pipe, settings, steps, computed):
    """Caches that diffusers has no hook for; appends whether each call computes."""
    if 'guidance_interval' in settings:
        Unguided(pipe, settings['guidance_interval'], steps)
    elif settings['method'] == 'teacache':
        TeaCached(pipe.transformer, *TEA_PLACES[name], settings, steps, computed)
    elif settings['method'] == 'deepcache':
        Deep(pipe.unet, settings.get('cache_branch_id', 0), settings['cache_interval'])
        computed.extend(step % settings['cache_interval'] == 0 for step in range(steps))
    else:
        passes, place = PLACES[name.removesuffix('-blocks')]
        Continued(pipe.transformer, passes, place)
        computed.extend(one for one in COMPUTED for _ in range(passes))


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
        if config is None:
            own_cache(name, pipe, settings, changed['num_inference_steps'], computed)
        else:
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
