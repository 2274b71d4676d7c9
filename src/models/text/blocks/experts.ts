// A feed-forward block of experts: a router sends each token to a few of them, and adds what they make of it by its shares; some models
// have one more expert that takes all tokens. The routing takes six dispatches, and no readback to the CPU where all experts are on the device.

import type { Tensor } from '../../../gpu/tensor.ts';
import type { TextBatch } from '../../../kernels/batch.ts';
import {
  expertActivated,
  expertClampedSwiglu,
  expertLinear,
  expertSwiglu,
  expertTanhGeglu,
} from '../../../kernels/expert-matmul.ts';
import { planExperts, type ExpertPlan } from '../../../kernels/expert-plan.ts';
import { withSlots } from '../../../kernels/expert-slots.ts';
import { expertSum } from '../../../kernels/expert-sum.ts';
import { gateRows } from '../../../kernels/gate-rows.ts';
import { linear, linearAdd } from '../../../kernels/matmul.ts';
import type { Matrix } from '../../../kernels/matrix.ts';
import { rowsOf, type Rows } from '../../../kernels/normed.ts';
import { route, type KeptRoutes, type RouterVectors } from '../../../kernels/route.ts';
import { expertLayers, type ExpertsConfig, type SharedMlp } from './experts-config.ts';
import { gatedMlp, plainMlp } from './gated-mlp.ts';
import type { WeightTable } from '../../weights.ts';

/** `name`: the layer's; `layer` counts the layers that have experts. */
export function experts(
  hidden: number,
  config: ExpertsConfig,
  weights: WeightTable,
  name: string,
  layer: number,
) {
  const mix = mixture(hidden, config, weights, name, layer);
  const shared = config.shared === null ? null : sharedExpert(hidden, config, config.shared, weights, name);

  return (input: Rows, residual: Tensor, batch: TextBatch): Tensor => {
    const x = rowsOf(input);
    // Gates change the rows that experts read.
    if (config.gatesInput) return mix(x, x, shared ? shared(x, residual) : residual, batch);
    const y = mix(x, x, residual, batch); // [rows, hidden]
    return shared ? shared(x, y) : y;
  };
}

/**
 * The experts that a router chooses, without one that takes all tokens. The router may read other rows than the experts, whose rows are multiplied
 * by shares in place where these gate inputs.
 */
export function mixture(
  hidden: number,
  config: ExpertsConfig,
  weights: WeightTable,
  name: string,
  layer: number,
) {
  const { names, count, chosen, bias = false, gatesInput = false } = config;
  const block = names.block === '' ? name : `${name}.${names.block}`;
  const each = Array.from({ length: count }, (_, i) => `${block}.experts.${i}`);
  const router = weights.router(`${block}.${names.router ?? 'gate'}.weight`, count, hidden, { bias });
  const vectors = routerVectors(config, weights, block);
  const latent = config.latent ? latentProjections(hidden, config.latent, weights, block) : null;
  const columns = config.latent ?? hidden;
  const ups = expertUps(columns, config, weights, each);
  const downs = weights.experts(
    each.map((expert) => `${expert}.${names.projections.down}.weight`),
    columns,
    config.ffn,
    { bias },
  );
  const sumBias = names.sumBias === undefined ? null : weights.vector(`${block}.${names.sumBias}`, columns);
  const stride = chosen * expertLayers(config);

  return (x: Tensor, read: Rows, residual: Tensor | null, { routed }: TextBatch): Tensor => {
    const kept: KeptRoutes | null = routed ? { region: routed, stride, first: chosen * layer } : null;
    const routes = route(linear(read, router), config, kept, vectors); // [rows, chosen]
    const plan = planExperts(routes);
    const entered = latent ? linear(x, latent.enter) : x; //    [rows, columns]
    const own = gatesInput ? gateRows(entered, routes.shares, 'gate') : entered;
    const outputs = withSlots(plan, [ups.matrix, downs], (tiles) => {
      const h = ups.unit(own, tiles); //                        [tile rows, ffn]
      return expertLinear(h, tiles, downs); //                  [tile rows, columns]
    });
    const target = latent ? null : residual;
    const y = expertSum(outputs, routes.shares, plan, target, !gatesInput, sumBias); // [rows, columns]
    if (!latent) return y; //                                   [rows, hidden]
    return residual ? linearAdd(y, latent.leave, residual) : linear(y, latent.leave);
  };
}

function routerVectors(
  { names: { choiceBias, gains }, count }: ExpertsConfig,
  weights: WeightTable,
  block: string,
): RouterVectors {
  const vector = (name: string | undefined): Tensor | null =>
    name === undefined ? null : weights.vector(`${block}.${name}`, count);
  return { bias: vector(choiceBias), gains: vector(gains) };
}

/** Projections to the columns that experts compute in, and back. */
function latentProjections(hidden: number, latent: number, weights: WeightTable, block: string) {
  return {
    enter: weights.matrix(`${block}.fc1_latent_proj.weight`, latent, hidden),
    leave: weights.matrix(`${block}.fc2_latent_proj.weight`, hidden, latent),
  };
}

/** What an expert computes before its last projection; `unit`: x [rows, columns] → [tile rows, ffn] */
function expertUps(columns: number, config: ExpertsConfig, weights: WeightTable, each: readonly string[]) {
  const { names, ffn, clamped, ungated, activation } = config;
  if (ungated !== undefined) {
    const ups = each.map((expert) => `${expert}.${names.projections.up}.weight`);
    const matrix = weights.experts(ups, ffn, columns, { split: 'columns' });
    return { matrix, unit: (x: Tensor, tiles: ExpertPlan) => expertActivated(x, tiles, matrix, ungated) };
  }
  const matrix = expertGateUps(columns, config, weights, each);
  const gated = activation === 'gelu-tanh' ? expertTanhGeglu : expertSwiglu;
  const unit = (x: Tensor, tiles: ExpertPlan): Tensor =>
    clamped ? expertClampedSwiglu(x, tiles, matrix, clamped) : gated(x, tiles, matrix);
  return { matrix, unit };
}

function expertGateUps(
  hidden: number,
  { names, ffn, bias = false }: ExpertsConfig,
  weights: WeightTable,
  each: readonly string[],
): Matrix {
  const { gate, up, gateUp } = names.projections;
  if (gate === undefined)
    throw new Error('experts without gates have an activation behind their first product');
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
  { names, plainShared = false, ungated }: ExpertsConfig,
  ffn: number,
  weights: WeightTable,
  name: string,
) {
  const { module = 'shared_experts', beside = false, ...mlp }: Partial<SharedMlp> = names.sharedMlp ?? {};
  const block = `${name}.${names.block}`;
  const own = plainShared ? `${beside ? name : block}.${module}` : `${block}.shared_expert`;
  if (ungated !== undefined) {
    const { up, down } = plainMlp({ hidden, ffn }, weights, own, ungated);
    return (x: Tensor, residual: Tensor): Tensor => linearAdd(up(x), down, residual);
  }
  // GGUF files hold the two halves by themselves.
  const isFused = mlp.fusedGateUp === true && weights.has(`${own}.${mlp.mlpNames?.gateUp}.weight`);
  const { gate, down } = gatedMlp({ hidden, ffn, ...mlp, fusedGateUp: isFused }, weights, own);
  if (plainShared) return (x: Tensor, residual: Tensor): Tensor => linearAdd(gate(x), down, residual);
  const share = weights.router(`${block}.shared_expert_gate.weight`, 1, hidden);

  return (x: Tensor, residual: Tensor): Tensor =>
    linearAdd(gateRows(gate(x), linear(x, share)), down, residual); // [rows, hidden]
}
