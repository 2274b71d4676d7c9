// Weights by their headers: what the pages of a model read of them, and what they leave.

import type { ConfigSource } from '../../files/checkpoint/checkpoint.ts';
import type { WeightRequest, WeightTable } from '../../models/weights.ts';
import { checkRequests, type TensorHeaders } from '../weights/check.ts';
import { collect } from '../weights/collect.ts';
import { parametersOf } from '../weights/plan.ts';
import type { UnreadModules } from '../weights/unread.ts';
import type { ModelPlan } from './model-plan.ts';

/** A page of a model with what it reads. */
export interface PlannedPage {
  /** The component of a pipeline, or the tower; empty: the model itself. */
  component: string;
  requests: readonly WeightRequest[];
  tensors: TensorHeaders;
  unread: UnreadModules;
}

/** Throws bad_checkpoint where the page asks for tensors that are not there or of another shape. */
export function plannedPage(
  component: string,
  tensors: TensorHeaders,
  build: (weights: WeightTable) => unknown,
  configSource?: ConfigSource,
): PlannedPage {
  const { requests, ignored } = collect(tensors, build);
  const unread = checkRequests({ requests, ignored }, tensors, configSource);
  return { component, requests, tensors, unread };
}

/** Describes the weights of all pages. Tensors of one name that several pages of a component read count once. */
export function weightsOf(
  pages: readonly PlannedPage[],
): Pick<ModelPlan, 'parameters' | 'stored' | 'ignored'> {
  const stored = pages.flatMap(({ requests, tensors }) =>
    requests.flatMap(({ names }) => names.map((name) => tensors.get(name)!.dtype)),
  );
  const components = [...new Set(pages.map(({ component }) => component))];
  const modules = pages.flatMap(({ component, unread }) =>
    unread.names.map((name) => (component === '' ? name : `${component}/${name}`)),
  );
  return {
    parameters: components
      .map((name) => pages.flatMap(({ component, requests }) => (component === name ? requests : [])))
      .reduce((sum, requests) => sum + parametersOf(requests), 0),
    stored: [...new Set(stored)],
    ignored: {
      modules: [...new Set(modules)],
      tensors: pages.reduce((sum, { unread }) => sum + unread.tensors, 0),
    },
  };
}
