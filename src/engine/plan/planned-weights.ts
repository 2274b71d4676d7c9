// A checkpoint's weights by their headers: what a page reads of them, and what it leaves.

import type { ConfigSource, Wrapper } from '../../files/checkpoint/checkpoint.ts';
import type { RunnerMedia } from '../text/towers/tower-weights.ts';
import type { WeightTable } from '../../models/weights.ts';
import { checkRequests, type TensorHeaders } from '../weights/check.ts';
import { collect } from '../weights/collect.ts';
import { parametersOf } from '../weights/plan.ts';
import type { ModelPlan } from './model-plan.ts';

/** Throws bad_checkpoint where the page asks for tensors that are not there or of another shape. */
export function readWeights(
  { tensors, configSource }: { tensors: TensorHeaders; configSource: ConfigSource },
  page: (weights: WeightTable) => unknown,
  wrapper: Wrapper | null,
): Pick<ModelPlan, 'parameters' | 'stored' | 'ignored'> {
  const { requests, ignored } = collect(tensors, page);
  const unread = checkRequests({ requests, ignored }, tensors, configSource);
  const { left, leftTensors } = wrapper ?? { left: [], leftTensors: 0 };
  const stored = requests.flatMap(({ names }) => names.map((name) => tensors.get(name)!.dtype));
  return {
    parameters: parametersOf(requests),
    stored: [...new Set(stored)],
    ignored: { modules: [...left, ...unread.names], tensors: leftTensors + unread.tensors },
  };
}

/** The weights of a text model together with those of the towers of its media. */
export function withTowers(
  weights: Pick<ModelPlan, 'parameters' | 'stored' | 'ignored'>,
  media: RunnerMedia | null,
): Pick<ModelPlan, 'media' | 'parameters' | 'stored' | 'ignored'> {
  if (media === null) return { ...weights, media: [] };
  const { towers, readers } = media.model;
  const requests = Object.values(towers).flatMap((page) => collect(media.tensors, page).requests);
  const types = requests.flatMap(({ names }) => names.map((name) => media.tensors.get(name)!.dtype));
  return {
    ...weights,
    media: MEDIA_KINDS.filter((kind) => readers[kind]),
    parameters: weights.parameters + parametersOf(requests),
    stored: [...new Set([...weights.stored, ...types])],
  };
}

const MEDIA_KINDS = ['image', 'video', 'audio'] as const;
