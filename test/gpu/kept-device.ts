// Devices that share one GPUDevice, and with it the pipelines that tests of this process have compiled. Compiling is most of what a test of a
// tiny model costs, and WebGPU keeps pipelines with their device.

import { setMaxListeners } from 'node:events';
import { firstBudget, type AdapterProfile } from '../../src/gpu/adapter-profile.ts';
import { withResolvers } from '../../src/engine/async/resolvers.ts';
import { withChoices } from '../../src/gpu/chosen-profile.ts';
import { Device, type DeviceSettings, type MemoryKind, type Pipeline } from '../../src/gpu/device.ts';
import { freeHostMemory } from '../../src/gpu/free-memory.ts';
import type { Params } from '../../src/gpu/linker.ts';
import { openDevice, readShader, type NodeDeviceOptions } from '../../src/gpu/node.ts';
import { TILE_ROWS } from '../../src/kernels/batch.ts';

/** GPU devices of this process by what they were asked for, open until it ends. */
const kept = new Map<string, Promise<Device>>();
/** Pipelines by shader text. */
const pipelines = new WeakMap<GPUDevice, Map<string, Pipeline>>();

/** A device that is gone once it is destroyed, as all are, while its GPUDevice is there for the next one. */
export class KeptDevice extends Device {
  readonly #lose: (reason: string) => void;
  readonly #buffers = new Set<GPUBuffer>();
  readonly #used = new Map<string, Pipeline>();
  readonly #shared: Map<string, Pipeline>;
  #isDestroyed = false;

  constructor(gpu: GPUDevice, settings: DeviceSettings) {
    super(gpu, settings);
    // Tests hold results to the rounding of f32; those of matrix units name the unit that they mean.
    this.capabilities.matrixUnit = null;
    const { promise, resolve } = withResolvers<string>();
    this.#lose = resolve;
    Object.defineProperty(this, 'lost', { value: Promise.race([this.lost, promise]) });
    this.#shared = pipelines.get(gpu) ?? new Map<string, Pipeline>();
    pipelines.set(gpu, this.#shared);
  }

  override get isLost(): boolean {
    return this.#isDestroyed || super.isLost;
  }

  override async loss(): Promise<string | null> {
    return this.#isDestroyed ? this.lost : super.loss();
  }

  override pipeline(name: string, params: Params = {}): Pipeline {
    const key = name + JSON.stringify(params);
    const used = this.#used.get(key);
    if (used) return used;
    const { code } = this.link(name, params);
    const pipeline = this.#shared.get(code) ?? super.pipeline(name, params);
    this.#shared.set(code, pipeline);
    this.#used.set(key, pipeline);
    return pipeline;
  }

  override dropShader(path: string, variant: string): void {
    super.dropShader(path, variant);
    this.#used.clear();
  }

  override allocate(kind: MemoryKind, label: string, bytes: number): GPUBuffer {
    const buffer = super.allocate(kind, label, bytes);
    this.#buffers.add(buffer);
    return buffer;
  }

  override allocateHost(label: string, bytes: number): GPUBuffer {
    const buffer = super.allocateHost(label, bytes);
    this.#buffers.add(buffer);
    return buffer;
  }

  override free(buffer: GPUBuffer): void {
    this.#buffers.delete(buffer);
    super.free(buffer);
  }

  override destroy(reason: string | null = null): void {
    if (this.#isDestroyed) return;
    this.#isDestroyed = true;
    for (const buffer of this.#buffers) buffer.destroy();
    this.#buffers.clear();
    this.#lose(reason ?? 'destroyed');
  }
}

/** `openDevice` on a GPUDevice that is kept. Tests of what a lost device does to work under way need one of their own. */
export async function openKeptDevice(options: NodeDeviceOptions = {}): Promise<Device> {
  return keptDevice(await sharedDevice(options), options);
}

/**
 * The same with small tiles, for whole models: software drivers compile kernels with few sums in half the time. Tests of kernels compute each with
 * the tiles of every profile. Where calls are validated, the shaders are still those of all other models: the driver's cache has them once.
 */
export async function openModelDevice(options: NodeDeviceOptions = {}): Promise<Device> {
  const shared = await sharedDevice(options);
  return keptDevice(shared, options, withSmallTiles(shared.profile));
}

/** A device of its own with small tiles, which is really lost when it is destroyed. */
export async function openOwnModelDevice(options: NodeDeviceOptions = {}): Promise<Device> {
  const device = await openDevice(options);
  return Object.defineProperty(device, 'profile', { value: withSmallTiles(device.profile) });
}

/** Products of any number of rows above one have the same tiles, so that there are two kernels of each. */
function withSmallTiles(profile: AdapterProfile): AdapterProfile {
  if (profile.name !== 'cpu') return profile;
  const attend = { ...profile.attend, tiles: [{ dims: Infinity, tiles: 1 }] };
  const stepRows = { ...profile.stepRows, few: [1, TILE_ROWS] };
  return { ...profile, tileRows: { usual: 8, winograd: 8 }, attend, stepRows };
}

function sharedDevice({ adapter, safe = false }: NodeDeviceOptions): Promise<Device> {
  const key = JSON.stringify([process.env['SVC_VULKAN_DRIVER'], adapter, safe]);
  const shared = kept.get(key) ?? openShared({ safe, ...(adapter === undefined ? {} : { adapter }) });
  kept.set(key, shared);
  return shared;
}

async function openShared(options: NodeDeviceOptions): Promise<Device> {
  const device = await openDevice(options);
  setMaxListeners(0, device.gpu); // each device on it listens to its errors
  return device;
}

function keptDevice(
  { gpu, summary, probed, profile: own }: Device,
  options: NodeDeviceOptions,
  profile: AdapterProfile = own,
): Device {
  return new KeptDevice(gpu, {
    ...options,
    profile: withChoices(profile, options),
    memoryBudget: options.memoryBudget ?? firstBudget(profile, freeHostMemory()),
    mayGrow: options.memoryBudget === undefined && profile.memory.mayGrow,
    shaders: readShader,
    summary,
    ...(probed && { probed }),
  });
}
