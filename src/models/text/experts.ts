// A feed-forward block of experts: a router sends each token to a few experts and sums their outputs, weighted by shares. The
// routing takes six dispatches and no readback to the CPU.

import type { Tensor } from '../../gpu/tensor.ts';
import type { TextBatch } from '../../kernels/batch.ts';
import { expertLinear, expertSwiglu } from '../../kernels/expert-matmul.ts';
import { planExperts } from '../../kernels/expert-plan.ts';
import { expertSum } from '../../kernels/expert-sum.ts';
import { linear } from '../../kernels/matmul.ts';
import { route, type KeptRoutes } from '../../kernels/route.ts';
import { expertLayers, type ExpertsConfig } from './experts-config.ts';
import type { WeightTable } from '../weights.ts';

/** `layer`: index among the layers with experts. */
export function experts(
  hidden: number,
  config: ExpertsConfig,
  weights: WeightTable,
  name: string,
  layer: number,
) {
  const { count, chosen, ffn } = config;
  const each = Array.from({ length: count }, (_, i) => `${name}.experts.${i}`);
  const router = weights.router(`${name}.gate.weight`, count, hidden);
  const gateUps = weights.expertGateUps(
    each.map((expert) => ({ gate: `${expert}.gate_proj.weight`, up: `${expert}.up_proj.weight` })),
    ffn,
    hidden,
  );
  const downs = weights.experts(
    each.map((expert) => `${expert}.down_proj.weight`),
    hidden,
    ffn,
  );
  const stride = chosen * expertLayers(config);

  return (x: Tensor, residual: Tensor, { routed }: TextBatch): Tensor => {
    const kept: KeptRoutes | null = routed ? { region: routed, stride, first: chosen * layer } : null;
    const routes = route(linear(x, router), config, kept); //     [rows, chosen]
    const plan = planExperts(routes);
    const h = expertSwiglu(x, plan, gateUps); //                  [tile rows, ffn]
    return expertSum(expertLinear(h, plan, downs), routes.shares, plan, residual); // [rows, hidden]
  };
}
