// Declarations of decoders: what the engine needs to know beside the layer that a family brings.

import type { ExpertOrder } from '../../../files/checkpoint/fused-experts.ts';
import type { GgufClass } from '../../../files/gguf/model.ts';
import type { HeadShape } from '../../../kernels/batch.ts';
import { paddedHead } from '../../../kernels/resize-heads.ts';
import type { ConfigFile, Json } from '../../config-values.ts';
import type { WeightTable } from '../../weights.ts';
import type { DraftDeclaration, TextArchitecture, TextClass, TextDeclaration } from './architecture.ts';
import {
  languageModel,
  namesOf,
  normedStates,
  statesAfter,
  type Block,
  type DecoderConfig,
  type DecoderLayer,
  type LayerInputs,
} from './decoder.ts';
import { expertLayers, type ExpertsConfig } from './experts-config.ts';
import { statesOf } from './kept-states.ts';

/** A decoder's configuration, as its family reads it from config.json. */
export interface DecoderModel extends DecoderConfig {
  /** The class, as /v1/models and model info show it. */
  architecture: string;
  /** Number of tokens that the model was trained for, including scaling. */
  context: number;
  ffn: number;
  heads: HeadShape;
  /** Columns of an intermediate that is wider than those of attention and feed-forward. */
  widest?: number;
  /** Left out: every layer has one feed-forward block for all tokens. */
  experts?: ExpertsConfig | null;
}

/** A class that a config.json may name. */
interface ClassNames {
  modelType: string;
  examples: string;
  /** As TextClass has it. */
  isPublishedAsCode?: boolean;
}

export interface DecoderFamily<Config extends DecoderModel> {
  classes: Iterable<readonly [name: string, names: ClassNames]>;
  /** Decoders saved without their head → the class of the whole model, and published ones. */
  headless?: Readonly<Record<string, { whole: string; examples?: string }>>;
  /** GGUF files of the architecture; left out: none are read. */
  gguf?: readonly GgufClass[];
  /** How a layer's experts are stored in one tensor; left out: they are not. */
  fusedExperts?: ExpertOrder;
  read(json: Json, className: string, file: ConfigFile): Config;
  layer(config: Config, weights: WeightTable, name: string, i: number): Block;
  /** The configuration of the part that each of `ranks` devices computes; left out: models of the family are not divided. Throws unsupported. */
  divide?(config: Config, ranks: number): Config;
  /** Columns that enter all layers; left out: none. */
  inputs?(config: Config, weights: WeightTable, name: string): LayerInputs | null;
  /** The heads that predict several tokens ahead; left out: checkpoints of the family have none. */
  mtp?(config: Config): DraftDeclaration;
}

/** What a declaration needs of a family beside its configuration. */
type FamilyParts<Config extends DecoderModel> = Pick<DecoderFamily<Config>, 'layer' | 'inputs' | 'mtp'>;

export function decoderArchitecture<Config extends DecoderModel>({
  classes,
  headless = {},
  gguf = [],
  fusedExperts,
  read,
  layer,
  divide,
  inputs,
  mtp,
}: DecoderFamily<Config>): TextArchitecture {
  const parts: FamilyParts<Config> = { layer, ...(inputs && { inputs }), ...(mtp && { mtp }) };
  const configOf = (json: Json, className: string, file: ConfigFile): Config =>
    read(json, headless[className]?.whole ?? className, file);
  return {
    classes: [
      ...Object.entries(headless).map(([name, { examples = '' }]): TextClass => ({
        name,
        modelType: null,
        examples,
        serves: ['embed'],
      })),
      ...[...classes].map(([name, { modelType, examples, isPublishedAsCode = false }]): TextClass => ({
        name,
        modelType,
        examples,
        isPublishedAsCode,
        serves: ['generate', 'embed'],
      })),
    ],
    gguf,
    ...(fusedExperts && { fusedExperts }),
    read: (json, className, file) => withDeep(declare(configOf(json, className, file), parts), json),
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
  const { layer, inputs, mtp } = parts;
  const { architecture, vocabulary, hidden, context, ropes, ffn, heads, layers, tied } = config;
  const { experts = null } = config;
  const attentionColumns = ({ heads: own = heads }: DecoderLayer): number =>
    (own.heads + 2 * own.kvHeads) * paddedHead(own.dims);
  const decoder = {
    config,
    layer: (weights: WeightTable, name: string, i: number) => layer(config, weights, name, i),
    inputs: (weights: WeightTable, name: string) => inputs?.(config, weights, name) ?? null,
  };
  return {
    architecture,
    vocabulary,
    hidden,
    context,
    ropes,
    // Rows of another model's embeddings are taken as they are, which a scaled residual stream does not allow, nor tokens that enter layers.
    inputs: {
      embeddings: !config.scalesResidual && !config.tokensEnterLayers,
      positions: ropes.some(({ sections }) => sections !== null) ? 3 : 1,
      attention: 'causal',
    },
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
    generate: (weights) => languageModel(decoder, weights),
    embed: (weights) => normedStates(decoder, weights),
    states: (weights, depths) => statesAfter(decoder, weights, depths),
    ...(mtp && { mtp: mtp(config) }),
  };
}
