// The plan of a page's weights on a device, before memory is allocated for them.

import type { TensorEntry } from '../../files/tensors/safetensors.ts';
import type { Device } from '../../gpu/device.ts';
import type { WeightTable } from '../../models/weights.ts';
import type { Collected } from './collect.ts';
import { collectOwn } from './collect-own.ts';
import { planOptionsOf, type LayoutOptions } from './plan-options.ts';
import { planWeights, type WeightPlan } from './plan.ts';

type Tensors = ReadonlyMap<string, TensorEntry>;

export function planOn(
  device: Device,
  tensors: Tensors,
  { requests }: Pick<Collected<unknown>, 'requests'>,
  options: LayoutOptions,
): WeightPlan {
  const storedBytes = [...tensors.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  const dtypeOf = (name: string): string => tensors.get(name)!.dtype;
  return planWeights(requests, dtypeOf, planOptionsOf(device, storedBytes, options));
}

/** Bytes that a page's weights take on a device. Throws what opening them throws about the checkpoint's tensors. */
export function plannedBytes(
  device: Device,
  tensors: Tensors,
  build: (weights: WeightTable) => unknown,
  options: LayoutOptions,
): number {
  const { collected, own } = collectOwn(tensors, build, options.part);
  return planOn(device, own, collected, options).bytes;
}
