// Names that --scheduler takes: diffusers' class names and the short names in common use, each with what it sets. The
// checkpoint's own settings (betas, prediction, spacing, offset, shift) stay in force under every name.

import { badRequest, unsupported } from '../../../files/error.ts';
import { CLASS_FAMILIES, openSchedule } from './classes.ts';
import type { Schedule, ScheduleFamily } from './schedule.ts';

type Config = Readonly<Record<string, unknown>>;

interface NamedSchedule {
  className: string;
  family: ScheduleFamily;
  /** Settings that replace those of the checkpoint. */
  sets: Config;
  /** Values for keys that the checkpoint lacks. */
  defaults?: Config;
}

const diffusion = (className: string, sets: Config = {}, defaults: Config = {}): NamedSchedule => ({
  className,
  family: 'diffusion',
  // The name determines the spacing; one that the checkpoint sets for its own schedule is reset.
  sets: { use_karras_sigmas: false, use_exponential_sigmas: false, use_beta_sigmas: false, ...sets },
  defaults,
});
const flow = (className: string, sets: Config = {}): NamedSchedule => ({ className, family: 'flow', sets });

const edm = (className: string, sets: Config = {}): NamedSchedule => ({ className, family: 'edm', sets });

const TRAILING = { timestep_spacing: 'trailing' };
const KARRAS = { use_karras_sigmas: true };
const SDE = { algorithm_type: 'sde-dpmsolver++', solver_order: 2 };
const ODE = { algorithm_type: 'dpmsolver++', solver_order: 2 };
const AS_FLOW = { use_flow_sigmas: true, prediction_type: 'flow_prediction' };

const NAMES: Readonly<Record<string, NamedSchedule>> = {
  euler: diffusion('EulerDiscreteScheduler'),
  'euler-karras': diffusion('EulerDiscreteScheduler', KARRAS),
  'euler-trailing': diffusion('EulerDiscreteScheduler', TRAILING),
  'euler-a': diffusion('EulerAncestralDiscreteScheduler'),
  heun: diffusion('HeunDiscreteScheduler'),
  'heun-karras': diffusion('HeunDiscreteScheduler', KARRAS),
  lms: diffusion('LMSDiscreteScheduler'),
  'lms-karras': diffusion('LMSDiscreteScheduler', KARRAS),
  ddim: diffusion('DDIMScheduler', {}, { clip_sample: false }),
  'ddim-trailing': diffusion('DDIMScheduler', TRAILING, { clip_sample: false }),
  ddpm: diffusion('DDPMScheduler', {}, { clip_sample: false }),
  pndm: diffusion('PNDMScheduler', { skip_prk_steps: true }),
  dpm2: diffusion('KDPM2DiscreteScheduler'),
  'dpm2-karras': diffusion('KDPM2DiscreteScheduler', KARRAS),
  'dpm2-a': diffusion('KDPM2AncestralDiscreteScheduler'),
  'dpm2-a-karras': diffusion('KDPM2AncestralDiscreteScheduler', KARRAS),
  'dpm++2s': diffusion('DPMSolverSinglestepScheduler', ODE),
  'dpm++2s-karras': diffusion('DPMSolverSinglestepScheduler', { ...ODE, ...KARRAS }),
  'dpm++2m': diffusion('DPMSolverMultistepScheduler', ODE),
  'dpm++2m-karras': diffusion('DPMSolverMultistepScheduler', { ...ODE, ...KARRAS }),
  'dpm++2m-sde': diffusion('DPMSolverMultistepScheduler', SDE),
  'dpm++2m-sde-karras': diffusion('DPMSolverMultistepScheduler', { ...SDE, ...KARRAS }),
  'dpm++3m': diffusion('DPMSolverMultistepScheduler', { ...ODE, solver_order: 3 }),
  'dpm++3m-sde': diffusion('DPMSolverMultistepScheduler', { ...SDE, solver_order: 3 }),
  'dpm++3m-sde-karras': diffusion('DPMSolverMultistepScheduler', { ...SDE, solver_order: 3, ...KARRAS }),
  deis: diffusion('DEISMultistepScheduler', { algorithm_type: 'deis' }),
  unipc: diffusion('UniPCMultistepScheduler'),
  lcm: diffusion('LCMScheduler'),
  tcd: diffusion('TCDScheduler'),
  'edm-euler': edm('EDMEulerScheduler'),
  'edm-dpm++2m': edm('EDMDPMSolverMultistepScheduler', ODE),
  'edm-dpm++2m-sde': edm('EDMDPMSolverMultistepScheduler', SDE),
  'edm-dpm++3m': edm('EDMDPMSolverMultistepScheduler', { ...ODE, solver_order: 3 }),
  'flow-euler': flow('FlowMatchEulerDiscreteScheduler'),
  'flow-heun': flow('FlowMatchHeunDiscreteScheduler'),
  'flow-lcm': flow('FlowMatchLCMScheduler'),
  'flow-dpm++2m': flow('DPMSolverMultistepScheduler', { ...ODE, ...AS_FLOW }),
  'flow-unipc': flow('UniPCMultistepScheduler', AS_FLOW),
};

/** Schedules that are often requested and not built in, with the remedy. */
const REFUSED: Readonly<Record<string, string>> = {
  DPMSolverSDEScheduler: 'its noise comes from a random tree that no seed sets; take dpm++2m-sde',
  DDIMParallelScheduler: 'it draws as DDIM does; take ddim',
  DDPMParallelScheduler: 'it draws as DDPM does; take ddpm',
  DDIMInverseScheduler: 'it takes images back to noise; take ddim',
  DPMSolverMultistepInverseScheduler: 'it takes images back to noise; take dpm++2m',
  SASolverScheduler: 'take unipc',
  IPNDMScheduler: 'take lms',
  CMStochasticIterativeScheduler: 'take lcm',
  CosineDPMSolverMultistepScheduler: 'take dpm++2m-sde',
  'dpm++sde': 'its noise comes from a random tree that no seed sets; take dpm++2m-sde',
  'dpm++sde-karras': 'its noise comes from a random tree that no seed sets; take dpm++2m-sde-karras',
  'dpm++2s-a': 'diffusers has no class for it; take dpm2-a, or dpm++2s, which adds no noise',
  'dpm++2s-a-karras':
    'diffusers has no class for it; take dpm2-a-karras, or dpm++2s-karras, which adds no noise',
  'dpm-fast': 'diffusers has no class for it; take dpm++2m',
  'dpm-adaptive': 'diffusers has no class for it; take dpm++2m',
  ipndm: 'take lms',
  restart: 'diffusers has no class for it; take heun',
};

/** Names of timestep spacings in ComfyUI and other programs. */
const SPACINGS = [
  'normal',
  'simple',
  'karras',
  'exponential',
  'sgmuniform',
  'ddimuniform',
  'beta',
  'linearquadratic',
  'kloptimal',
];

/** Words in other programs' names, with this engine's words. */
const SPELLINGS: readonly [RegExp, string][] = [
  [/^k_/, ''],
  [/dpmpp/, 'dpm++'],
  [/ancestral$/, 'a'],
  [/^(sample_)?plms$/, 'pndm'],
  [/_gpu$/, ''],
  [/^uni_pc_bh2$/, 'unipc'],
];

const KINDS: Readonly<Record<ScheduleFamily, string>> = {
  diffusion: 'noise-predicting',
  flow: 'flow-matching',
  edm: "Karras' EDM",
};

const bare = (name: string): string => name.toLowerCase().replaceAll(/[\s_-]/g, '');

/** Name of a schedule in this engine, from the spelling of other programs (dpmpp_2m_sde, Euler a, "DPM++ 2M Karras"). Unknown names are unchanged. */
function ownName(name: string): string {
  const known = [...Object.keys(NAMES), ...Object.keys(CLASS_FAMILIES), ...Object.keys(REFUSED)];
  if (known.includes(name)) return name;
  const spelt = SPELLINGS.reduce((text, [theirs, ours]) => text.replace(theirs, ours), name.toLowerCase());
  return known.find((one) => bare(one) === bare(spelt)) ?? name;
}

/** Returns short names first, then classes; `family`: the checkpoint's. */
export function scheduleNames(family: ScheduleFamily): string[] {
  const short = Object.entries(NAMES).filter(([, named]) => named.family === family);
  const classes = Object.entries(CLASS_FAMILIES).filter(
    ([, of]) => of === family || (of === 'both' && family !== 'edm'),
  );
  return [...short, ...classes].map(([name]) => name);
}

/**
 * Returns this engine's name of the schedule `name` on a checkpoint with this scheduler_config.json. Throws unsupported with an
 * alternative, and bad_request for an unknown name or one of another family.
 */
export function scheduleName(name: string, config: Config): string {
  const own = ownName(name);
  refuseKnown(own, name);
  check(own, scheduleFamily(config));
  return own;
}

/**
 * The schedule that `name` stands for, on the checkpoint's scheduler_config.json; null: the checkpoint's own. Throws
 * the errors of scheduleName and openSchedule.
 */
export function chooseSchedule(name: string | null, config: Config): Schedule {
  if (name === null) {
    refuseKnown(String(config['_class_name']));
    return openSchedule(config);
  }
  const own = scheduleName(name, config);
  const { className, defaults = {}, sets } = NAMES[own] ?? { className: own, sets: {} };
  const bridged = scheduleFamily(config) === 'flow' ? flowSettings(className, config) : {};
  return openSchedule({ ...defaults, ...config, ...bridged, ...sets, _class_name: className });
}

/** Family of a checkpoint, including those whose own schedule is not built in. */
export function scheduleFamily(config: Config): ScheduleFamily {
  const className = String(config['_class_name']);
  if (className.startsWith('EDM')) return 'edm';
  const flows =
    className.startsWith('FlowMatch') ||
    config['use_flow_sigmas'] === true ||
    config['prediction_type'] === 'flow_prediction';
  return flows ? 'flow' : 'diffusion';
}

function refuseKnown(own: string, name = own): void {
  const refused = Object.hasOwn(REFUSED, own) ? REFUSED[own] : undefined;
  if (refused === undefined) return;
  throw unsupported(`scheduler ${name} is not here: ${refused}.`, 'scheduler');
}

function check(name: string, family: ScheduleFamily): void {
  const names = scheduleNames(family);
  if (names.includes(name)) return;
  const of = NAMES[name]?.family ?? CLASS_FAMILIES[name];
  const other = of === 'both' ? 'noise-predicting and flow-matching' : of && KINDS[of];
  const why = other
    ? `is for ${other} models, which this is not`
    : SPACINGS.includes(bare(name))
      ? 'is a spacing of steps, and goes with a method, as in euler-karras'
      : 'is unknown';
  throw badRequest(`scheduler ${name} ${why}; take one of ${names.join(', ')}.`, 'scheduler');
}

/** Settings of flow models. Flow-matching classes and solvers have different keys for the shift, and solvers need "use_flow_sigmas". */
function flowSettings(className: string, config: Config): Config {
  const shift = config['shift'] ?? config['flow_shift'] ?? 1;
  return CLASS_FAMILIES[className] === 'both' ? { ...AS_FLOW, flow_shift: shift } : { shift };
}
