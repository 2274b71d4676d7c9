"""Traces of diffusers' schedulers:  python scripts/reference/schedules.py

test/golden/schedules.json holds, per case, the scheduler's config, the run's settings, and what a whole run gives: the
timesteps fed, the latents after each call of a stand-in model, and the weights of image and noise that add_noise uses
before each call. `saved` is the text of scheduler_config.json as diffusers saves each class, all keys at their defaults. The stand-in is output = 0.4 * input + 0.3 * sin(0.02 * timestep + i) for value i of the latents; the
noise is a sine too, so both sides compute the same numbers.

It is a float64 run: each scheduler's module sees a numpy and a torch whose `float32` is `float64`, so that its tables,
sigmas and timesteps are float64 throughout; nothing else of diffusers is changed, but that randn_tensor gives the sine.
"""

import contextlib
import io
import itertools
import json
import math
import sys
import types
from importlib.metadata import version
from pathlib import Path

import diffusers
import numpy
import torch

from schedule_cases import runs

GOLDEN = Path(__file__).resolve().parents[2] / 'test' / 'golden'
VALUES = 2
IMAGE = [0.8, -0.5]


class Widened(types.ModuleType):
    """A module whose float32 is float64."""

    def __init__(self, module):
        super().__init__(module.__name__)
        self.module = module

    def __getattr__(self, name):
        return getattr(self.module, 'float64' if name == 'float32' else name)


def noise(draw):
    values = [1.3 * math.sin(1.7 * (VALUES * draw + i) + 0.3) for i in range(VALUES)]
    return torch.tensor(values, dtype=torch.float64).reshape(1, VALUES, 1, 1)


def model(latents, timestep):
    phase = torch.tensor([math.sin(0.02 * float(timestep) + i) for i in range(VALUES)], dtype=torch.float64)
    return 0.4 * latents + 0.3 * phase.reshape(1, VALUES, 1, 1)


def widened(name):
    """The scheduler's class, its module in float64; and a counter of noise drawn (the first draw is the start)."""
    cls = getattr(diffusers, name)
    module = sys.modules[cls.__module__]
    draws = itertools.count(1)
    module.np, module.torch = Widened(numpy), Widened(torch)
    module.randn_tensor = lambda shape, **_: noise(next(draws))
    return cls


def add_noise(scheduler, image, fresh, timestep):
    at = timestep.reshape(1)
    return scheduler.add_noise(image, fresh, at) if hasattr(scheduler, 'add_noise') else scheduler.scale_noise(image, at, fresh)


def level(scheduler, timestep):
    """Returns the factors of image and noise at a timestep."""
    one, zero = torch.ones(1, 1, 1, 1, dtype=torch.float64), torch.zeros(1, 1, 1, 1, dtype=torch.float64)
    return [add_noise(scheduler, *pair, timestep).item() for pair in ((one, zero), (zero, one))]


def start(scheduler, steps, run):
    """Timesteps of this run; image-to-image begins late."""
    names = {'reach': 'strength', 'origin': 'original_inference_steps'} | {key: key for key in ('sigmas', 'timesteps', 'mu')}
    settings = {argument: run[key] for key, argument in names.items() if key in run}
    counted = not {'sigmas', 'timesteps'} & settings.keys()
    scheduler.set_timesteps(**({'num_inference_steps': steps} if counted else {}), **settings)
    skipped = run.get('first', 0) * scheduler.order
    if hasattr(scheduler, 'set_begin_index'):
        scheduler.set_begin_index(skipped)
    return scheduler.timesteps[skipped:]


def trace(name, config, steps, run):
    scheduler = widened(name)(**config)
    timesteps = start(scheduler, steps, run)
    if 'first' in run or 'reach' in run:
        image = torch.tensor(IMAGE, dtype=torch.float64).reshape(1, VALUES, 1, 1)
        latents = add_noise(scheduler, image, noise(0), timesteps[0])
    else:
        latents = noise(0) * getattr(scheduler, 'init_noise_sigma', 1.0)
    rows, levels = [latents], []
    step = {key: run[key] for key in ('eta',) if key in run}
    for timestep in timesteps:
        levels.append(level(scheduler, timestep))
        scaled = scheduler.scale_model_input(latents, timestep) if hasattr(scheduler, 'scale_model_input') else latents
        latents = scheduler.step(model(scaled, timestep), timestep, latents, return_dict=False, **step)[0]
        assert latents.dtype == torch.float64 and bool(latents.isfinite().all()), (name, config, steps, run)
        rows.append(latents)
    return {
        'timesteps': [digits(t.item()) for t in timesteps],
        'levels': [[digits(weight) for weight in pair] for pair in levels],
        'latents': [[digits(value) for value in row.flatten().tolist()] for row in rows],
    }


def digits(value):
    return float(f'{value:.8g}')


def saved(name):
    return getattr(diffusers, name)().to_json_string()


if __name__ == '__main__':
    torch.set_default_dtype(torch.float64)
    cases = []
    for name, config, steps, run in runs():
        with contextlib.redirect_stderr(io.StringIO()):
            result = trace(name, config, steps, run)
        cases.append({'config': {'_class_name': name, **config}, 'run': {'steps': steps, **run}, **result})
    document = {
        'command': 'python scripts/reference/schedules.py',
        'made_with': {package: version(package) for package in ('diffusers', 'numpy', 'scipy', 'torch')},
        'image': IMAGE,
        'compatibles': sorted(cls.__name__ for cls in diffusers.PNDMScheduler().compatibles),
        'saved': [saved(name) for name in dict.fromkeys(case['config']['_class_name'] for case in cases)],
    }
    lines = ',\n'.join(json.dumps(case, separators=(',', ':')) for case in cases)
    head = json.dumps(document)[:-1]
    (GOLDEN / 'schedules.json').write_text(f'{head}, "cases": [\n{lines}\n]}}\n')
    print(f'{len(cases)} cases')
