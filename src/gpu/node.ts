// The device starter for Node: finds adapters through Dawn's binding and opens devices on them.

import { readFileSync } from 'node:fs';
import { EngineError, unsupported } from '../files/error.ts';
import type { AdapterSummary } from './adapter.ts';
import { type Adapters, findEveryAdapter, type Start } from './adapters/every-adapter.ts';
import { equalCards } from './adapters/pci-cards.ts';
import type { Device, DeviceSettings } from './device.ts';
import { adapterOf, findAdapters, type FoundAdapter } from './find-adapter.ts';
import { freeHostMemory } from './free-memory.ts';
import { nativeLibraries } from './native-library.ts';
import { startDevice, type DeviceOptions } from './start-device.ts';
import { preloadCachedDriver, systemHasVulkanLoader } from './vulkan-cache.ts';

export { destroyDevices } from './start-device.ts';

export interface NodeDeviceOptions extends DeviceOptions, Pick<DeviceSettings, 'bindingLimit' | 'portable'> {
  /** Whether Dawn validates calls and shaders check bounds; 'calls': Dawn validates, and shaders are those of a device that is not safe. */
  safe?: boolean | 'calls';
}

// Source: Dawn's Toggles.cpp. Lazy clearing would zero every buffer at its first partial write. Workgroup memory is never zeroed, so that tests find
// kernels that rely on zeros.
const SAFE_FEATURES =
  'allow_unsafe_apis,vulkan_enable_f16_on_nvidia,use_vulkan_memory_model,disable_workgroup_init';
const CALLS_FEATURES = `${SAFE_FEATURES},disable_robustness,disable_polyfills_on_integer_div_and_mod`;
const FAST_FEATURES = `${CALLS_FEATURES},skip_validation`;

function flagsOf(safe: NodeDeviceOptions['safe']): string[] {
  const features = safe === 'calls' ? CALLS_FEATURES : safe ? SAFE_FEATURES : FAST_FEATURES;
  return [
    `enable-dawn-features=${features}`,
    'disable-dawn-features=lazy_clear_resource_on_first_use,timestamp_quantization',
  ];
}

/**
 * The objects of create(), by driver and flags. They must stay reachable until the process ends, since collecting one crashes the process; and
 * each loads a driver with threads of its own, so that another one is made only for other flags or a driver that was not there before.
 */
const started = new Map<string, GPU>();

/**
 * Throws inside Electron, where V8 refuses the memory that Dawn's binding maps buffers to. The binding is loaded only after this check.
 */
export function refuseElectron(): void {
  if (process.versions['electron'] === undefined) return;
  throw unsupported(
    'inside Electron the engine runs in a hidden window: use svc-engine/electron/main in the main process, in place of svc-engine',
  );
}

/** The binding is a native library, which this system may not be able to load. */
function refuseBinding(cause: unknown): never {
  const reason = cause instanceof Error ? cause.message : String(cause);
  throw new EngineError(
    'no_adapter',
    `the GPU binding cannot be loaded (${reason}): run \`npx svc-engine doctor\` for what this system needs`,
    { cause },
  );
}

async function start(flags: string[], driver = 'system'): Promise<GPU> {
  refuseElectron();
  const { create, globals } = await import('webgpu').catch(refuseBinding);
  const key = JSON.stringify([driver, flags]);
  let gpu = started.get(key);
  if (!gpu) {
    Object.assign(globalThis, globals);
    gpu = create(flags);
    started.set(key, gpu);
  }
  return gpu;
}

/** The adapters that WebGPU gives by preference, best first, and how all of them are found. */
interface FoundFirst {
  found: FoundAdapter[];
  findEvery(): Promise<Adapters<FoundAdapter>>;
}

async function find(flags: string[]): Promise<FoundFirst> {
  const wanted = process.env['SVC_VULKAN_DRIVER'] || 'system';
  const mayAsk = wanted === 'system' && (process.platform !== 'linux' || systemHasVulkanLoader());
  const own = mayAsk ? await findAdapters(await start(flags)) : [];
  const driver = own.length > 0 ? 'system' : preloadCachedDriver();
  const found = driver === null || driver === 'system' ? own : await findAdapters(await start(flags, driver));
  const findEvery = async (): Promise<Adapters<FoundAdapter>> =>
    driver === null
      ? { found, hidden: [] }
      : findEveryAdapter(
          found,
          findAdapters,
          (given, use) => useGpu(flags, driver, given, use),
          equalCards(),
        );
  return { found, findEvery };
}

/** Uses WebGPU as `given` starts it. Dawn's binding reads the environment in the first call of requestAdapter, with which `use` begins, and not behind it. */
async function useGpu<T>(
  flags: string[],
  driver: string,
  { adapter, card }: Start,
  use: (gpu: GPU) => Promise<T>,
): Promise<T> {
  const own = adapter === undefined ? flags : [...flags, `adapter=${adapter}`];
  const gpu = await start(own, card === undefined ? driver : `${driver} on ${card}`);
  if (card === undefined || process.platform !== 'linux') return use(gpu);
  const { setVariable } = nativeLibraries();
  const before = process.env['DRI_PRIME'] ?? null;
  setVariable('DRI_PRIME', `${card}!`);
  try {
    return use(gpu);
  } finally {
    setVariable('DRI_PRIME', before);
  }
}

/** Lists the adapters that answer, best first. */
export async function listAdapters(): Promise<AdapterSummary[]> {
  const { found } = await (await find(flagsOf(true))).findEvery();
  return found.map(({ summary }) => summary);
}

/** The adapter that is chosen where none is wanted; undefined: none answers. Unlike a list of all it starts WebGPU once. */
export async function bestAdapter(): Promise<AdapterSummary | undefined> {
  return (await find(flagsOf(true))).found[0]?.summary;
}

export async function openDevice(options: NodeDeviceOptions = {}): Promise<Device> {
  return startDevice(await choose(options), options, { shaders: readShader, freeBytes: freeHostMemory });
}

/** Chooses among the first adapters, or among all where those do not suffice. */
async function choose({ safe, adapter, place }: NodeDeviceOptions): Promise<FoundAdapter> {
  const { found, findEvery } = await find(flagsOf(safe));
  if (found.length === 0) {
    throw new EngineError(
      'no_adapter',
      'no GPU adapter answered: run `npx svc-engine doctor` for what this system needs',
    );
  }
  try {
    return adapterOf(found, adapter, place);
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    const every = await findEvery();
    return adapterOf(every.found, adapter, place, every.hidden);
  }
}

const shaderCache = new Map<string, string>();

/** Shaders ship as files beside src/ and dist/. */
export function readShader(path: string): string {
  let text = shaderCache.get(path);
  if (text === undefined) {
    text = readFileSync(new URL(`../../shaders/${path}`, import.meta.url), 'utf8');
    shaderCache.set(path, text);
  }
  return text;
}
