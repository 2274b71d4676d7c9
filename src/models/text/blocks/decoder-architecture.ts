// Declarations of decoders: what the engine needs to know beside the layer that a family brings.

import type { ExpertOrder } from '../../../files/checkpoint/fused-experts.ts';
import type { DerivedVectors } from '../../../files/tensors/derived.ts';
import type { GgufClass } from '../../../files/gguf/model.ts';
import type { HeadShape } from '../../../kernels/batch.ts';
import type { LatentShape } from '../../../kernels/latent-kv.ts';
import { storedHead } from '../../../kernels/resize-heads.ts';
import { readConfig, type ConfigFile, type Json } from '../../config-values.ts';
import type { WeightTable } from '../../weights.ts';
import type { OwnDraft, TextArchitecture, TextClass, TextDeclaration } from './architecture.ts';
import {
  languageModel,
  namesOf,
  normedStates,
  statesAfter,
  type Block,
  type DecoderConfig,
  type DecoderLayer,
  type LayerInputs,
  type Streams,
} from './decoder.ts';
import { headClasses, withHead, type DecoderHeads } from './decoder-heads.ts';
import { expertLayers, type ExpertsConfig } from './experts-config.ts';
import { statesOf } from './kept-states.ts';

/** A decoder's configuration, as its family reads it from config.json. */
export interface DecoderModel extends DecoderConfig {
  /** The class, as /v1/models and model info show it. */
  architecture: string;
  /** Number of tokens that the model was trained for, including scaling. */
  context: number;
  ffn: number;
  /** Whether each token sees its whole text, so that nothing can be generated; left out: only itself and those before it. */
  bidirectional?: boolean;
  heads: HeadShape;
  /** See TextDeclaration.latents. */
  expandable?: LatentShape;
  /** Columns of an intermediate that is wider than those of attention and feed-forward. */
  widest?: number;
  /** Left out: every layer has one feed-forward block for all tokens. */
  experts?: ExpertsConfig | null;
}

/** A class that a config.json may name. */
interface ClassNames {
  modelType: string;
  examples: string;
  needsNoCode?: boolean;
}

export interface DecoderFamily<Config extends DecoderModel> {
  classes: Iterable<readonly [name: string, names: ClassNames]>;
  /** Decoders saved without their head → the class of the whole model, and published ones. */
  headless?: Readonly<Record<string, { whole: string; examples?: string }>>;
  /** Classes with a head for classification in place of the language model's. */
  heads?: DecoderHeads;
  /** GGUF files of the architecture; left out: none are read. */
  gguf?: readonly GgufClass[];
  /** How a layer's experts are stored in one tensor; left out: they are not. */
  fusedExperts?: ExpertOrder;
  /** Matrices that checkpoints store as [k, rows], by class; left out: none. */
  transposed?: Readonly<Record<string, RegExp>>;
  /** Vectors that are computed from tensors that checkpoints store, by class; left out: none. */
  derived?: Readonly<Record<string, (json: Json) => DerivedVectors>>;
  read(json: Json, className: string, file: ConfigFile): Config;
  layer(config: Config, weights: WeightTable, name: string, i: number): Block;
  /** The configuration of the part that each of `ranks` devices computes; left out: models of the family are not divided. Throws unsupported. */
  divide?(config: Config, ranks: number): Config;
  /** Columns that enter all layers; left out: none. */
  inputs?(config: Config, weights: WeightTable, name: string): LayerInputs | null;
  /** Streams in place of one residual stream; left out: it is one. */
  streams?(config: Config, weights: WeightTable, name: string): Streams;
  /** The heads that predict several tokens ahead; null, left out: checkpoints of the class, of the family have none. */
  mtp?(config: Config): OwnDraft | null;
}

/** What a declaration needs of a family beside its configuration. */
type FamilyParts<Config extends DecoderModel> = Pick<
  DecoderFamily<Config>,
  'layer' | 'inputs' | 'streams' | 'mtp'
>;

export function decoderArchitecture<Config extends DecoderModel>({
  classes,
  headless = {},
  heads = {},
  gguf = [],
  fusedExperts,
  transposed,
  derived,
  read,
  layer,
  divide,
  inputs,
  streams,
  mtp,
}: DecoderFamily<Config>): TextArchitecture {
  const parts: FamilyParts<Config> = {
    layer,
    ...(inputs && { inputs }),
    ...(streams && { streams }),
    ...(mtp && { mtp }),
  };
  const configOf = (json: Json, className: string, file: ConfigFile): Config =>
    read(json, headless[className]?.whole ?? heads[className]?.whole ?? className, file);
  return {
    classes: [
      ...Object.entries(headless).map(([name, { examples = '' }]): TextClass => ({
        name,
        modelType: null,
        examples,
        serves: ['embed'],
      })),
      ...[...classes].map(([name, { modelType, examples, needsNoCode = false }]): TextClass => ({
        name,
        modelType,
        examples,
        ...(needsNoCode && { needsNoCode }),
        serves: ['generate', 'embed'],
      })),
      ...headClasses(heads),
    ],
    gguf,
    ...(fusedExperts && { fusedExperts }),
    ...(transposed && { transposed }),
    ...(derived && { derived }),
    read(json, className, file) {
      const config = configOf(json, className, file);
      if (config.bidirectional && !headless[className] && !heads[className])
        throw readConfig(file, json).error(
          'unsupported',
          'use_bidirectional_attention',
          `true is not built for ${className}, which generates texts; choose an embedding model of the class without a head`,
        );
      const declared = withDeep(declare(config, parts), json);
      const head = heads[className];
      return head ? withHead(declared, className, head, json, file) : declared;
    },
    ...(divide && {
      divide: (json: Json, className: string, file: ConfigFile, ranks: number) =>
        declare(divide(configOf(json, className, file), ranks), parts),
    }),
  };
}

/** Media families state the layers after which rows of media are added as `deep_inputs`, which no published configuration has. */
function withDeep(declaration: TextDeclaration, { deep_inputs: deep }: Json): TextDeclaration {
  if (typeof deep !== 'number') return declaration;
  const { inputs, tied } = declaration;
  return {
    ...declaration,
    inputs: { ...inputs, deep },
    tied: tied && { ...tied, untied: withDeep(tied.untied, { deep_inputs: deep }) },
  };
}

function declare<Config extends DecoderModel>(config: Config, parts: FamilyParts<Config>): TextDeclaration {
  const { layer, inputs, streams, mtp } = parts;
  const { architecture, vocabulary, hidden, context, ropes, ffn, heads, layers, tied } = config;
  const { experts = null } = config;
  const draft = mtp?.(config);
  const attentionColumns = ({ heads: own = heads }: DecoderLayer): number =>
    (own.heads + 2 * own.kvHeads) * storedHead(own);
  const decoder = {
    config,
    layer: (weights: WeightTable, name: string, i: number) => layer(config, weights, name, i),
    inputs: (weights: WeightTable, name: string) => inputs?.(config, weights, name) ?? null,
    streams: (weights: WeightTable, name: string) => streams?.(config, weights, name) ?? null,
  };
  return {
    architecture,
    vocabulary,
    hidden,
    context,
    ropes,
    // Rows of another model's embeddings are taken as they are, which a scaled residual stream does not allow.
    inputs: {
      embeddings: !config.scalesResidual,
      positions: ropes.some(({ sections }) => sections !== null) ? 3 : 1,
      attention: config.bidirectional ? 'whole' : 'causal',
    },
    depth: layers.length,
    layers: layers.flatMap((one) => statesOf(one, heads)),
    widest: Math.max(ffn, hidden, experts?.shared ?? 0, config.widest ?? 0, ...layers.map(attentionColumns)),
    experts: experts && {
      layers: expertLayers(experts),
      count: experts.count,
      chosen: experts.chosen,
      widest: Math.max(hidden, experts.ffn),
    },
    tied: tied
      ? {
          head: namesOf(config).head,
          embeddings: namesOf(config).embeddings,
          untied: declare({ ...config, tied: false }, parts),
        }
      : null,
    generate: config.bidirectional ? null : (weights) => languageModel(decoder, weights),
    embed: (weights) => normedStates(decoder, weights),
    // No image model takes states of several streams.
    states: streams ? null : (weights, depths) => statesAfter(decoder, weights, depths),
    ...(draft && { mtp: draft }),
    ...(config.expandable && { latents: config.expandable }),
  };
}
