// Stage 1: the adapter, its features, limits and driver, what the engine makes of them, and probes of what they do not tell.

import { cpus, totalmem } from 'node:os';
import { probeMatrixUnit } from '../../dist/kernels/matrix-unit.js';
import { openFully } from './open-device.mjs';
import { f16Probe, f32Probe } from './number-probes.mjs';
import { subgroupProbe, timestampProbe } from './device-probes.mjs';

export async function measure({ sink }) {
  const { device, adapter, summary, languageFeatures, others } = await openFully();
  await probeMatrixUnit(device);
  const { profile, capabilities } = device;
  sink.put('summary', withoutLists(summary));
  sink.put('info', infoOf(adapter.info));
  sink.put('features', summary.features);
  sink.put('limits', summary.limits);
  sink.put(
    'languageFeatures',
    [...languageFeatures].sort((a, b) => a.localeCompare(b)),
  );
  sink.put('subgroupMatrixConfigs', matrixConfigs(adapter));
  sink.put('engine', { profile: profile.name, family: profile.family, capabilities });
  sink.put('others', others.map(withoutLists));
  sink.put('host', { processor: cpus()[0]?.model ?? '', cores: cpus().length, memoryBytes: totalmem() });
  for (const [name, value] of [
    ['adapter', `${summary.device} (${summary.description})`],
    ['subgroups', `${summary.subgroupMinSize} to ${summary.subgroupMaxSize}`],
    ['subgroup matrices', matrixConfigs(adapter).map(configName).join(', ') || 'none'],
    ['matrix unit in use', unitName(capabilities.matrixUnit, summary)],
  ])
    sink.row('facts', { name, value });
  for (const [name, probe] of Object.entries(PROBES)) {
    try {
      const { value, ...more } = await probe(device);
      sink.row('probes', { name, value, ...more });
    } catch (error) {
      sink.row('probes', { name, error: error.message });
    }
  }
  const failure = device.takeError();
  if (failure) throw failure;
}

/** The matrix unit of the engine's kernels, as they find it after its probe, or why they use none. */
function unitName(unit, { matrixUnit }) {
  if (unit !== null) return `${unit.rows} × ${unit.columns} × ${unit.depth}, subgroups of ${unit.subgroup}`;
  return typeof matrixUnit === 'string' ? matrixUnit : 'none: its probe failed';
}

const PROBES = {
  'f16 subnormals through unpack2x16float': f16Probe('unpack'),
  'f16 subnormals in f16 arithmetic': f16Probe('arithmetic'),
  'f32 subnormals': f32Probe,
  'subgroup sizes seen': subgroupProbe,
  timestamps: timestampProbe,
};

function withoutLists(summary) {
  const { features: _features, limits: _limits, ...rest } = summary;
  return rest;
}

/** All members of the adapter's info, which a future binding may have more of. */
function infoOf(info) {
  const members = {};
  for (const key in info)
    if (['string', 'number', 'boolean'].includes(typeof info[key])) members[key] = info[key];
  return members;
}

/** @returns {{ componentType: string, resultComponentType: string, M: number, N: number, K: number }[]} */
export function matrixConfigs({ features, info }) {
  if (!features.has('chromium-experimental-subgroup-matrix')) return [];
  return [...(info.subgroupMatrixConfigs ?? [])].map(({ componentType, resultComponentType, M, N, K }) => ({
    componentType,
    resultComponentType,
    M,
    N,
    K,
  }));
}

export function configName({ componentType, resultComponentType, M, N, K }) {
  return `${componentType} to ${resultComponentType}, ${M} × ${N} × ${K}`;
}
