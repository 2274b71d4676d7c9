// Where the weights of a component are: on the device all the time, on it for the stages that use them, or in host memory, from which
// layers are copied as they are needed. Options ask for one of these; the others are planned.

import { option, say, type Message } from '../../../files/message.ts';
import { badRequest, type EngineError } from '../../../files/error.ts';
import type { PipelineComponents } from '../../../files/pipeline/pipeline-classes.ts';
import type { ResidentPart } from '../../weights/layers.ts';
import type { IMAGE_MODEL } from '../../../options/image-model.ts';
import type { SettingValues } from '../../../options/setting.ts';
import type { MemoryRole } from '../calls/memory-plan.ts';
import { UPSCALING } from '../layouts/upscaler.ts';
import { PREVIEW_DECODER } from './preview-decoder.ts';

export type Residency =
  | { kind: 'resident' }
  /** Loaded for the stages that use it; `kept`: from packed copies in host memory, else from its files. */
  | { kind: 'staged'; kept: boolean }
  /** In host memory; `resident`: the layers that are on the device while a stage uses it. */
  | { kind: 'streamed'; resident: ResidentPart };

export type Residencies = ReadonlyMap<string, Residency>;

export const RESIDENT: Residency = { kind: 'resident' };
export const STAGED: Residency = { kind: 'staged', kept: false };

/** The part of an image family that declares components. */
interface DeclaredComponents {
  components: PipelineComponents;
  pipelines: readonly { components?: PipelineComponents }[];
  denoiser: string;
  autoencoder: string;
}

/** Returns the role of each component that has weights. */
export function rolesOf(
  { names }: { names: readonly string[] },
  { components, pipelines, denoiser, autoencoder }: DeclaredComponents,
): ReadonlyMap<string, MemoryRole> {
  const declared: PipelineComponents = Object.assign(
    {},
    UPSCALING,
    PREVIEW_DECODER,
    components,
    ...pipelines.map((set) => set.components),
  );
  const roleOf = (name: string): MemoryRole => {
    if (name === denoiser) return 'denoiser';
    if (name === autoencoder) return 'autoencoder';
    return (declared[name] ?? declared[name.replace(NUMBER, '')])?.role ?? 'text encoder';
  };
  return new Map(names.map((name) => [name, roleOf(name)]));
}

/** What the names of further components of a kind end with. */
const NUMBER = /_\d+$/;

export type OffloadOptions = Pick<
  SettingValues<typeof IMAGE_MODEL>,
  | 'ditCpuOffload'
  | 'ditLayerwiseOffload'
  | 'ditOffloadPrefetch'
  | 'ditLayerwiseResidentLayers'
  | 'textEncoderCpuOffload'
  | 'imageEncoderCpuOffload'
  | 'vaeCpuOffload'
>;

const CPU_OFFLOAD = {
  'text encoder': 'textEncoderCpuOffload',
  'image encoder': 'imageEncoderCpuOffload',
  autoencoder: 'vaeCpuOffload',
  denoiser: 'ditCpuOffload',
} as const satisfies Partial<Record<MemoryRole, keyof OffloadOptions>>;

const SWITCHES: Readonly<Partial<Record<MemoryRole, (typeof CPU_OFFLOAD)[keyof typeof CPU_OFFLOAD]>>> =
  CPU_OFFLOAD;

/** A note on an option that concerns no component of a pipeline; null: there is none. */
export function ineffectiveOffload(
  { imageEncoderCpuOffload }: OffloadOptions,
  roles: ReadonlyMap<string, MemoryRole>,
): Message | null {
  if (imageEncoderCpuOffload !== true || [...roles.values()].includes('image encoder')) return null;
  return say`${option('imageEncoderCpuOffload')} changes nothing: the pipeline has no image encoder`;
}

/**
 * Residencies that options ask for; false keeps a component on the device. Throws bad_request for options that need another one, which is
 * not given.
 */
export function askedResidencies(
  options: OffloadOptions,
  roles: ReadonlyMap<string, MemoryRole>,
): Residencies {
  const { ditLayerwiseOffload, ditLayerwiseResidentLayers, ditOffloadPrefetch } = options;
  if (ditLayerwiseOffload !== true) {
    if (ditLayerwiseResidentLayers !== undefined) throw needsLayers('ditLayerwiseResidentLayers');
    if (ditOffloadPrefetch !== undefined) throw needsLayers('ditOffloadPrefetch');
  }
  const asked = new Map<string, Residency>();
  for (const [name, role] of roles) {
    const key = SWITCHES[role];
    const offloaded = key && options[key];
    if (role === 'denoiser' && ditLayerwiseOffload === true)
      asked.set(name, { kind: 'streamed', resident: { layers: ditLayerwiseResidentLayers ?? 0 } });
    else if (offloaded !== undefined) asked.set(name, offloaded ? { kind: 'staged', kept: true } : RESIDENT);
  }
  return asked;
}

function needsLayers(param: 'ditLayerwiseResidentLayers' | 'ditOffloadPrefetch'): EngineError {
  const message = say`${option(param)} is for ${option('ditLayerwiseOffload')}, which is off: give both, or leave it out`;
  return badRequest(message, param);
}

/** Options that have an effect only with `ditLayerwiseOffload`. */
const OF_LAYERS = ['ditLayerwiseResidentLayers', 'ditOffloadPrefetch'] as const;

/** The sets of given options that may be left out for an image to fit: each alone, those that are off first, and then all. */
export function leavableOptions(options: OffloadOptions): (keyof OffloadOptions)[][] {
  const isGiven = (name: keyof OffloadOptions): boolean => options[name] !== undefined;
  const switches = [...Object.values(CPU_OFFLOAD), 'ditLayerwiseOffload' as const].filter(isGiven);
  const layers = OF_LAYERS.filter(isGiven);
  const ordered = [...switches].sort((a, b) => Number(options[a]) - Number(options[b]));
  const each = ordered.map((name) => (name === 'ditLayerwiseOffload' ? [name, ...layers] : [name]));
  const all = [...ordered, ...layers];
  return [...each, ...layers.map((name) => [name]), ...(ordered.length > 1 ? [all] : [])];
}

/** Returns options without some. */
export function withoutOptions<T extends OffloadOptions>(
  options: T,
  names: readonly (keyof OffloadOptions)[],
): T {
  const others = { ...options };
  for (const name of names) delete others[name];
  return others;
}

/** Bytes of weights, and those of them that are on the device while they are used, and that are read from a file as tapes run. */
export interface PageBytes {
  all: number;
  onDevice: number;
  inFile: number;
}
