import { expect, it } from 'vitest';
import { requestedHeaders } from '../../../src/engine/plan/headers.ts';
import { plannedPage, weightsOf } from '../../../src/engine/plan/planned-weights.ts';
import type { WeightTable } from '../../../src/models/weights.ts';

it('Tensors of one name count once within a component, and once for each component that has them', () => {
  const build = (weights: WeightTable) => [
    weights.vector('norm.weight', 8),
    weights.vector('more.weight', 4),
  ];
  const tensors = requestedHeaders(build, null, 'F32');
  const page = (component: string) => plannedPage(component, tensors, build);
  expect(weightsOf([page('text_encoder'), page('text_encoder')]).parameters).toBe(12);
  expect(weightsOf([page('text_encoder'), page('text_encoder_2')]).parameters).toBe(24);
});
