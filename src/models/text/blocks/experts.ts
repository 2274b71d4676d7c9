// A feed-forward block of experts: a router sends each token to a few of them, and adds what they make of it by its shares; some models
// have one more expert that takes all tokens. The routing takes six dispatches, and no readback to the CPU where all experts are on the device.

import type { Tensor } from '../../../gpu/tensor.ts';
import type { TextBatch } from '../../../kernels/batch.ts';
import { expertClampedSwiglu, expertLinear, expertSwiglu } from '../../../kernels/expert-matmul.ts';
import { planExperts } from '../../../kernels/expert-plan.ts';
import { withSlots } from '../../../kernels/expert-slots.ts';
import { expertSum } from '../../../kernels/expert-sum.ts';
import { gateRows } from '../../../kernels/gate-rows.ts';
import { linear, linearAdd } from '../../../kernels/matmul.ts';
import type { Matrix } from '../../../kernels/matrix.ts';
import { rowsOf, type Rows } from '../../../kernels/normed.ts';
import { route, type KeptRoutes } from '../../../kernels/route.ts';
import { expertLayers, type ExpertsConfig } from './experts-config.ts';
import { gatedMlp } from './gated-mlp.ts';
import type { WeightTable } from '../../weights.ts';

/** `name`: the layer's; `layer` counts the layers that have experts. */
export function experts(
  hidden: number,
  config: ExpertsConfig,
  weights: WeightTable,
  name: string,
  layer: number,
) {
  const { names, count, chosen, bias = false, clamped } = config;
  const block = `${name}.${names.block}`;
  const each = Array.from({ length: count }, (_, i) => `${block}.experts.${i}`);
  const router = weights.router(`${block}.${names.router ?? 'gate'}.weight`, count, hidden, { bias });
  const choiceBias =
    names.choiceBias === undefined ? null : weights.vector(`${block}.${names.choiceBias}`, count);
  const gateUps = expertGateUps(hidden, config, weights, each);
  const downs = weights.experts(
    each.map((expert) => `${expert}.${names.projections.down}.weight`),
    hidden,
    config.ffn,
    { bias },
  );
  const stride = chosen * expertLayers(config);
  const shared = config.shared === null ? null : sharedExpert(hidden, config, config.shared, weights, block);

  return (input: Rows, residual: Tensor, { routed }: TextBatch): Tensor => {
    const x = rowsOf(input);
    const kept: KeptRoutes | null = routed ? { region: routed, stride, first: chosen * layer } : null;
    const routes = route(linear(x, router), config, kept, choiceBias); // [rows, chosen]
    const plan = planExperts(routes);
    const outputs = withSlots(plan, [gateUps, downs], (tiles) => {
      const h = clamped ? expertClampedSwiglu(x, tiles, gateUps, clamped) : expertSwiglu(x, tiles, gateUps); // [tile rows, ffn]
      return expertLinear(h, tiles, downs); //                    [tile rows, hidden]
    });
    const y = expertSum(outputs, routes.shares, plan, residual); // [rows, hidden]
    return shared ? shared(x, y) : y;
  };
}

function expertGateUps(
  hidden: number,
  { names, ffn, bias = false }: ExpertsConfig,
  weights: WeightTable,
  each: readonly string[],
): Matrix {
  const { gate, up, gateUp } = names.projections;
  if (gateUp !== undefined && !weights.has(`${each[0]}.${gate}.weight`)) {
    const both = each.map((expert) => `${expert}.${gateUp}.weight`);
    if (names.gateUpOrder === 'halves') return weights.expertHalves(both, ffn, hidden);
    return weights.expertTurns(both, ffn, hidden, { bias });
  }
  const pairs = each.map((expert) => ({ gate: `${expert}.${gate}.weight`, up: `${expert}.${up}.weight` }));
  return weights.expertGateUps(pairs, ffn, hidden, { bias });
}

/** The expert that takes all tokens: residual + σ(gate) · mlp(x), or residual + mlp(x). */
function sharedExpert(
  hidden: number,
  { plainShared = false }: ExpertsConfig,
  ffn: number,
  weights: WeightTable,
  block: string,
) {
  const name = `${block}.${plainShared ? 'shared_experts' : 'shared_expert'}`;
  const { gate, down } = gatedMlp({ hidden, ffn }, weights, name);
  if (plainShared) return (x: Tensor, residual: Tensor): Tensor => linearAdd(gate(x), down, residual);
  const share = weights.router(`${block}.shared_expert_gate.weight`, 1, hidden);

  return (x: Tensor, residual: Tensor): Tensor =>
    linearAdd(gateRows(gate(x), linear(x, share)), down, residual); // [rows, hidden]
}
