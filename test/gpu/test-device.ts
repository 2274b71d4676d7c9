// Devices for tests: a fixed budget, and for tests of kernels validation and bounds checks.

import type { Device } from '../../src/gpu/device.ts';
import { FAMILIES, type FamilyName } from '../../src/gpu/adapter-families.ts';
import { PROFILES, withOnePhase, type AdapterProfile } from '../../src/gpu/adapter-profile.ts';
import { readShader, type NodeDeviceOptions } from '../../src/gpu/node.ts';
import type { MatrixUnit } from '../../src/gpu/matrix-units.ts';
import { KeptDevice, openKeptDevice, openModelDevice } from './kept-device.ts';

export const TEST_BUDGET = 2 ** 30;

/** Which devices check bounds, for scripts/gpu-check.mjs: `all`, `none`; left out: those of kernels, not those of whole models. */
const CHECKS = process.env['TESTS_BOUNDS_CHECKS'];

export async function openTestDevice(options: NodeDeviceOptions = {}): Promise<Device> {
  return openKeptDevice({ safe: CHECKS !== 'none', memoryBudget: TEST_BUDGET, ...options });
}

/**
 * A device for whole models: kernels with small tiles, and the flags that programs get, so that models alone and engines around them share
 * the shaders in the driver's cache.
 */
export async function openModelTestDevice(options: NodeDeviceOptions = {}): Promise<Device> {
  return openModelDevice({ safe: CHECKS === 'all', memoryBudget: TEST_BUDGET, ...options });
}

export interface Disguise {
  /** Smallest subgroup size to report. */
  lanes?: number;
  /** Largest subgroup size to report. */
  largestSubgroup?: number;
  /** Kernels are chosen by this profile instead of the adapter's own. */
  profile?: AdapterProfile['name'];
  /** Traits of this family are added to the profile's; subgroups are pinned to the least size of the adapter. */
  family?: FamilyName;
  /** See OpenDeviceOptions. */
  deterministic?: boolean | undefined;
  /** Replaces the profile's. */
  activations?: AdapterProfile['activations'];
  /** Replaces the profile's. */
  sharedTiles?: number;
  /** Maximum rows of tiles in workgroup memory; replaces the profile's. */
  sharedRows?: 16 | 32 | 64;
  /** Replaces the profile's sums of a lane of attention over a prompt. */
  promptSums?: number;
  /** Replaces the profile's sums of a lane of dense attention. */
  attendSums?: number | null;
  portable?: boolean;
  bindingLimit?: number;
  memoryBudget?: number;
  /** Workgroups along one dimension of a dispatch. */
  maxWorkgroups?: number;
  /** Bytes of workgroup memory. */
  workgroupBytes?: number;
  /** Rows of a tile of decode rows: software adapters take seconds to compile the eight of GPUs. */
  matvecRows?: number;
  /** Most multiply-adds of a dispatch; replaces the profile's. */
  dispatchWork?: number;
  /** Products of many rows use these matrix units. */
  matrixUnit?: MatrixUnit;
}

const disguised = new WeakMap<Device, Map<string, Device>>();

/** Returns the same adapter with other reported properties, cached: kernels choose their variants by the summary. */
export function disguise(device: Device, as: Disguise): Device {
  const made = disguised.get(device) ?? new Map<string, Device>();
  disguised.set(device, made);
  const key = JSON.stringify(as);
  const seen = made.get(key) ?? wrap(device, as);
  made.set(key, seen);
  return seen;
}

function wrap(device: Device, as: Disguise): Device {
  const { summary, probed } = device;
  const isOwn = as.profile === undefined || as.profile === device.profile.name;
  const general = isOwn ? device.profile : PROFILES.find(({ name }) => name === as.profile)!;
  const family = FAMILIES.find(({ name }) => name === as.family);
  const pinned = family?.traits.subgroupSize ? { subgroupSize: summary.subgroupMinSize } : {};
  const named = { ...general, ...family?.traits, ...pinned };
  const { deterministic = false, ...given } = as;
  const { sharedTiles, sharedRows, promptSums, matvecRows, dispatchWork, attendSums, activations } = {
    ...named,
    ...given,
  };
  const changed = { sharedTiles, sharedRows, promptSums, matvecRows, dispatchWork, attendSums, activations };
  const own = { ...named, ...changed };
  const profile = deterministic ? withOnePhase(own) : own;
  const seen = new KeptDevice(device.gpu, {
    shaders: readShader,
    ...(probed && { probed }),
    memoryBudget: as.memoryBudget ?? TEST_BUDGET,
    profile,
    ...(as.portable === undefined ? {} : { portable: as.portable }),
    ...(as.bindingLimit === undefined ? {} : { bindingLimit: as.bindingLimit }),
    summary: {
      ...summary,
      subgroupMinSize: as.lanes ?? summary.subgroupMinSize,
      subgroupMaxSize: as.largestSubgroup ?? summary.subgroupMaxSize,
    },
  });
  if (as.matrixUnit !== undefined) seen.capabilities.matrixUnit = as.matrixUnit;
  if (as.workgroupBytes !== undefined) seen.capabilities.workgroupBytes = as.workgroupBytes;
  if (as.maxWorkgroups !== undefined) seen.capabilities.maxWorkgroups = as.maxWorkgroups;
  return seen;
}

export async function hasF16(): Promise<boolean> {
  return (await openTestDevice()).capabilities.f16;
}
