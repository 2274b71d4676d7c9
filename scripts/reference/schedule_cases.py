"""The runs of test/golden/schedules.json: class, configuration, settings of the run."""

import itertools

import numpy

SD = {'beta_start': 0.00085, 'beta_end': 0.012, 'beta_schedule': 'scaled_linear'}
SPACINGS = ['linspace', 'leading', 'trailing']
RESPACINGS = ['use_karras_sigmas', 'use_exponential_sigmas', 'use_beta_sigmas']


def spread(name, predictions, **config):
    """Every spacing with every prediction."""
    for spacing, prediction in itertools.product(SPACINGS, predictions):
        offset = {'steps_offset': 1} if spacing == 'leading' else {}
        yield name, {**SD, **config, 'timestep_spacing': spacing, 'prediction_type': prediction, **offset}, {}


def with_each(name, base, *changes):
    for change in changes:
        yield name, {**base, **change}, {}


def diffusion():
    every = ['epsilon', 'v_prediction', 'sample']
    two = every[:2]
    unclipped = {'clip_sample': False}
    zero = {'rescale_betas_zero_snr': True, 'prediction_type': 'v_prediction', 'timestep_spacing': 'trailing'}
    betas = [{'beta_schedule': 'linear', 'beta_start': 0.0001, 'beta_end': 0.02}, {'beta_schedule': 'squaredcos_cap_v2'}]
    betas.append({'trained_betas': [round(0.0001 + 0.0000199 * i, 7) for i in range(40)], 'num_train_timesteps': 40})

    yield from spread('DDIMScheduler', every, **unclipped)
    yield from with_each('DDIMScheduler', SD | unclipped, zero, {'set_alpha_to_one': False}, *betas)
    for eta in (0.5, 1.0):
        yield 'DDIMScheduler', SD | unclipped, {'eta': eta}
    yield from spread('DDPMScheduler', every, **unclipped)
    kinds = [{'variance_type': 'fixed_large'}, {'variance_type': 'fixed_small_log'}, {'beta_schedule': 'sigmoid'}]
    yield from with_each('DDPMScheduler', SD | unclipped, *kinds, {'beta_schedule': 'laplace'}, zero)
    yield from spread('PNDMScheduler', two, skip_prk_steps=True)
    yield from spread('PNDMScheduler', two, set_alpha_to_one=True)
    yield from spread('LMSDiscreteScheduler', every)
    yield from with_each('LMSDiscreteScheduler', SD, *({key: True} for key in RESPACINGS))
    yield from spread('EulerDiscreteScheduler', every)
    continuous = {'timestep_type': 'continuous', 'prediction_type': 'v_prediction', 'sigma_min': 0.002, 'sigma_max': 700.0}
    more = [{'interpolation_type': 'log_linear'}, {'final_sigmas_type': 'sigma_min'}, continuous | {'use_karras_sigmas': True}]
    yield from with_each('EulerDiscreteScheduler', SD, *({key: True} for key in RESPACINGS), *more, zero, *betas[:2])
    yield from spread('EulerAncestralDiscreteScheduler', two)
    yield from with_each('EulerAncestralDiscreteScheduler', SD, zero)
    yield from spread('HeunDiscreteScheduler', every)
    yield from with_each('HeunDiscreteScheduler', SD, *({key: True} for key in RESPACINGS), {'beta_schedule': 'exp'})
    for name in ('KDPM2DiscreteScheduler', 'KDPM2AncestralDiscreteScheduler'):
        yield from spread(name, two)
        yield from with_each(name, SD, *({key: True} for key in RESPACINGS))
    yield from solvers(every, zero)
    for name in ('LCMScheduler', 'TCDScheduler'):
        yield from with_each(name, SD, *({'prediction_type': kind} for kind in every))
        yield from with_each(name, SD, {'original_inference_steps': 100})
    yield from with_each('LCMScheduler', SD, {'timestep_scaling': 5.0})
    for eta in (0.0, 0.7, 1.0):
        yield 'TCDScheduler', SD, {'eta': eta}


def solvers(every, zero):
    respaced = [{key: True} for key in RESPACINGS]
    flow = {'use_flow_sigmas': True, 'prediction_type': 'flow_prediction', 'flow_shift': 3.0}
    dpm = 'DPMSolverMultistepScheduler'
    yield from spread(dpm, every)
    for algorithm, solver, order in itertools.product(('dpmsolver++', 'sde-dpmsolver++'), ('midpoint', 'heun'), (1, 2, 3)):
        yield dpm, SD | {'algorithm_type': algorithm, 'solver_type': solver, 'solver_order': order}, {}
    for algorithm, order in (('dpmsolver', 2), ('dpmsolver', 3), ('sde-dpmsolver', 2)):
        for solver in ('midpoint', 'heun'):
            config = {
                'algorithm_type': algorithm,
                'solver_type': solver,
                'solver_order': order,
                'final_sigmas_type': 'sigma_min',
            }
            yield dpm, SD | config, {}
    ends = [
        {'final_sigmas_type': 'sigma_min'},
        {'final_sigmas_type': 'sigma_min', 'euler_at_final': True, 'lower_order_final': False},
    ]
    yield from with_each(dpm, SD, *respaced, *ends, zero, flow, {'use_lu_lambdas': True}, {'lambda_min_clipped': -5.1})
    yield dpm, SD | flow | {'use_dynamic_shifting': True}, {'mu': 0.8}
    single = 'DPMSolverSinglestepScheduler'
    yield from with_each(single, SD, *({'prediction_type': kind} for kind in every))
    for algorithm, solver, order in itertools.product(('dpmsolver++', 'sde-dpmsolver++', 'dpmsolver'), ('midpoint', 'heun'), (1, 2, 3)):
        config = {'algorithm_type': algorithm, 'solver_type': solver, 'solver_order': order}
        yield single, SD | config | ({'final_sigmas_type': 'sigma_min'} if algorithm == 'dpmsolver' else {}), {}
    to_lowest = {'final_sigmas_type': 'sigma_min'}
    grouped = [to_lowest | {'solver_order': order, 'lower_order_final': final} for order in (2, 3) for final in (True, False)]
    cosine = {'beta_schedule': 'squaredcos_cap_v2', 'use_karras_sigmas': True}
    yield from with_each(single, SD, *respaced, *grouped, flow, cosine, {'lambda_min_clipped': -5.1})
    yield single, SD | flow | {'use_dynamic_shifting': True}, {'mu': 0.8}
    deis = 'DEISMultistepScheduler'
    yield from spread(deis, every)
    orders = [{'solver_order': order} for order in (1, 3)]
    others = [{'solver_order': 3, 'lower_order_final': False}, {'algorithm_type': 'dpmsolver++', 'solver_type': 'midpoint'}]
    yield from with_each(deis, SD, *respaced, *orders, *others)
    uni = 'UniPCMultistepScheduler'
    yield from spread(uni, every)
    for kind, order, clean in itertools.product(('bh1', 'bh2'), (1, 2, 3), (True, False)):
        config = {'solver_type': kind, 'solver_order': order, 'predict_x0': clean, 'final_sigmas_type': 'sigma_min'}
        yield uni, SD | config, {}
    ends = [{'lower_order_final': False, 'final_sigmas_type': 'sigma_min'}, {'disable_corrector': [0, 2]}]
    karras_flow = flow | {'use_karras_sigmas': True}
    stretched = flow | {'shift_terminal': 0.02}
    yield from with_each(uni, SD, *respaced, *ends, zero, flow, karras_flow, stretched)
    yield uni, SD | flow | {'use_dynamic_shifting': True}, {'mu': 0.8}


def edm():
    names = ['EDMEulerScheduler', 'EDMDPMSolverMultistepScheduler']
    for name in names:
        kinds = [{}, {'prediction_type': 'v_prediction', 'sigma_data': 1.0, 'sigma_max': 120.0, 'sigma_schedule': 'exponential'}]
        yield from with_each(name, {}, *kinds, {'final_sigmas_type': 'sigma_min', 'rho': 5.0}, {'sigma_min': 0.02})
    solver = names[1]
    for algorithm, kind, order in itertools.product(('dpmsolver++', 'sde-dpmsolver++'), ('midpoint', 'heun'), (1, 2, 3)):
        if order < 3 or algorithm == 'dpmsolver++':  # diffusers has no SDE of third order
            yield solver, {'algorithm_type': algorithm, 'solver_type': kind, 'solver_order': order}, {}
    yield from with_each(solver, {'final_sigmas_type': 'sigma_min'}, {'lower_order_final': False}, {'euler_at_final': True})


def flows():
    respaced = [{key: True} for key in RESPACINGS]
    for name in ('FlowMatchEulerDiscreteScheduler', 'FlowMatchLCMScheduler'):
        yield from with_each(name, {'shift': 3.0}, {}, {'shift': 1.0}, {'shift_terminal': 0.02}, *respaced)
        for kind in ('exponential', 'linear'):
            yield name, {'use_dynamic_shifting': True, 'time_shift_type': kind, 'shift': 3.0}, {'mu': 0.9}
        yield name, {'shift': 3.0}, {'sigmas': lambda steps: numpy.linspace(1, 1 / steps, steps).tolist()}
    yield 'FlowMatchEulerDiscreteScheduler', {'shift': 3.0, 'stochastic_sampling': True}, {}
    yield from with_each('FlowMatchHeunDiscreteScheduler', {}, {'shift': 3.0}, {'shift': 1.0})


def late():
    """
    Image-to-image at strength 0.6, as diffusers' pipelines count: those of flow models take the steps that are left after
    int(0.4 * steps), the others int(0.6 * steps), and LCM's own pipeline spreads all of them over the first 0.6 of its
    distillation. Not LMS, which weights slopes there that it does not have.
    """

    def rounded_down(steps):
        return steps - int(steps * 0.6)

    def rounded_up(steps):
        return int(steps - steps * 0.6)

    leading = SD | {'timestep_spacing': 'leading', 'steps_offset': 1}
    for name in ('DDIMScheduler', 'DDPMScheduler'):
        yield name, leading | {'clip_sample': False}, {'first': rounded_down}
    yield 'PNDMScheduler', leading | {'skip_prk_steps': True}, {'first': rounded_down}
    for order in (2, 3):
        yield 'DPMSolverSinglestepScheduler', SD | {'solver_order': order}, {'first': rounded_down}
    for name in ('Euler', 'EulerAncestral', 'Heun', 'KDPM2', 'KDPM2Ancestral'):
        yield f'{name}DiscreteScheduler', leading, {'first': rounded_down}
    for name in ('DPMSolverMultistepScheduler', 'UniPCMultistepScheduler'):
        yield name, leading | {'solver_order': 3, 'final_sigmas_type': 'sigma_min'}, {'first': rounded_down}
    yield 'DEISMultistepScheduler', leading | {'solver_order': 3}, {'first': rounded_down}
    for name in ('LCMScheduler', 'TCDScheduler'):
        yield name, SD, {'first': rounded_down}
    for name in ('FlowMatchEulerDiscreteScheduler', 'FlowMatchHeunDiscreteScheduler', 'FlowMatchLCMScheduler'):
        yield name, {'shift': 3.0}, {'first': rounded_up}
    for name in ('EDMEulerScheduler', 'EDMDPMSolverMultistepScheduler'):
        yield name, {}, {'first': rounded_down}
    yield 'LCMScheduler', SD, {'reach': 0.6}
    yield 'LCMScheduler', SD, {'reach': 0.6, 'origin': 100}


def listed():
    """Timesteps and sigmas of one's own, also begun late."""

    def timesteps(steps):
        return [int(990 * (1 - i / steps) ** 1.5) | 1 for i in range(steps)]  # odd: see TCD's floor

    def sigmas(steps):
        return [round(14 * 0.005 ** (i / steps), 4) for i in range(steps)] + [0.0]

    def ending(steps):
        return [*sigmas(steps)[:-1], 0.04]

    leading = SD | {'timestep_spacing': 'leading', 'steps_offset': 1}
    for name in ('DDPMScheduler', 'EulerDiscreteScheduler', 'HeunDiscreteScheduler', 'LCMScheduler', 'TCDScheduler'):
        unclipped = {'clip_sample': False} if name == 'DDPMScheduler' else {}
        yield name, leading | unclipped, {'timesteps': timesteps}
        yield name, SD | unclipped, {'timesteps': timesteps, 'first': lambda steps: steps // 4}
    euler, dpm = 'EulerDiscreteScheduler', 'DPMSolverMultistepScheduler'
    yield euler, SD | {'interpolation_type': 'log_linear'}, {'timesteps': timesteps}
    yield euler, leading, {'sigmas': sigmas}
    karras = {'use_karras_sigmas': True, 'prediction_type': 'v_prediction'}
    yield euler, SD | karras, {'sigmas': ending, 'first': lambda steps: steps // 4}
    yield euler, SD | {'timestep_type': 'continuous', 'prediction_type': 'v_prediction'}, {'sigmas': sigmas}
    for config in ({}, {'solver_order': 3, 'lambda_min_clipped': -5.1}, {'algorithm_type': 'sde-dpmsolver++'}):
        yield dpm, SD | config, {'timesteps': timesteps}
    yield dpm, SD | {'final_sigmas_type': 'sigma_min'}, {'timesteps': timesteps, 'first': lambda steps: steps // 4}
    yield 'DPMSolverSinglestepScheduler', SD | {'solver_order': 3}, {'timesteps': timesteps}


def limited():
    """Clean latents that are clipped or thresholded, of each class that has a setting for it; TCD's have no effect."""
    clips = {'clip_sample': True, 'clip_sample_range': 0.7}
    thresholds = {'thresholding': True, 'dynamic_thresholding_ratio': 0.6, 'sample_max_value': 2.5}
    clipping = ['DDIMScheduler', 'DDPMScheduler', 'LCMScheduler', 'TCDScheduler', 'HeunDiscreteScheduler']
    solvers = ['DPMSolverMultistepScheduler', 'DPMSolverSinglestepScheduler', 'UniPCMultistepScheduler', 'DEISMultistepScheduler']
    kinds = [{'prediction_type': kind} for kind in ('epsilon', 'v_prediction')]
    for name, kind in itertools.product(clipping, kinds):
        yield name, SD | kind | clips, {}
    for name, kind in itertools.product(clipping[:4] + solvers, kinds):
        yield name, SD | kind | thresholds | ({'clip_sample': True} if name in clipping else {}), {}
    yield from with_each('DDIMScheduler', SD, {}, clips | {'prediction_type': 'sample'}, thresholds | {'sample_max_value': 1.0})
    yield from with_each('DDPMScheduler', SD, {}, thresholds | {'dynamic_thresholding_ratio': 1.0, 'sample_max_value': 100.0})
    yield 'DDIMScheduler', SD | clips, {'eta': 0.5}
    yield 'DDIMScheduler', SD | clips, {'first': lambda steps: steps // 4}
    dpm, _, uni, _ = solvers
    for kind in kinds:
        for algorithm in ('dpmsolver', 'sde-dpmsolver'):  # diffusers' singlestep solver fails with both
            yield dpm, SD | kind | thresholds | {'algorithm_type': algorithm, 'final_sigmas_type': 'sigma_min'}, {}
        yield dpm, SD | kind | thresholds | {'algorithm_type': 'sde-dpmsolver++', 'solver_order': 3}, {}
        yield uni, SD | kind | thresholds | {'predict_x0': False, 'final_sigmas_type': 'sigma_min'}, {}
        yield 'EDMDPMSolverMultistepScheduler', kind | thresholds, {}
    flow = {'use_flow_sigmas': True, 'prediction_type': 'flow_prediction', 'flow_shift': 3.0}
    yield from ((name, SD | flow | thresholds, {}) for name in (dpm, uni))


def runs():
    for name, config, run in itertools.chain(diffusion(), edm(), flows(), late(), listed(), limited()):
        counts = (4, 5, 20) if 'Singlestep' in name and config.get('solver_order') == 3 else (4, 20)
        for steps in counts:  # 5: the last group of three is of two
            yield name, config, steps, {key: value(steps) if callable(value) else value for key, value in run.items()}
