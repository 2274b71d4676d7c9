// Classes that put a vision or audio tower before a text model. For a prompt of text only they compute what the text model computes: the
// towers only replace rows of the embedding, and the three parts of a multimodal position are equal. So such a checkpoint is opened as its
// text model, to which a family of media-families.ts adds its towers. Goldens of transformers (test/golden/wrappers) compare the logits of
// Llava, SmolVLM, Mistral3 (with Mistral and Ministral 3), Qwen2-VL, Qwen3-VL, Qwen3.5, Qwen3.5-MoE, Gemma3 and Gemma4; the other classes
// are opened by the same rule, without a golden.

import { type EngineError, unsupported } from '../../files/error.ts';
import { say } from '../../files/message.ts';
import { listsClasses } from '../../files/openers.ts';
import type { Json } from '../config-values.ts';
import { textClasses } from './registry.ts';
import { WRAPPED_TYPES, type WrappedType } from './wrapped-types.ts';

/** A text model within another, as config.json describes it. */
export interface TextHalf {
  /** The part of config.json that the text model's class reads. */
  config: Record<string, unknown>;
  architecture: string;
}

/** Classes, with the default of transformers for tying head and embedding; null: the text_config decides. */
const WRAPPERS: ReadonlyMap<string, boolean | null> = new Map([
  ['LlavaForConditionalGeneration', false],
  ['LlavaNextForConditionalGeneration', false],
  ['LlavaNextVideoForConditionalGeneration', false],
  ['LlavaOnevisionForConditionalGeneration', false],
  ['VipLlavaForConditionalGeneration', false],
  ['Llama4ForConditionalGeneration', false],
  ['Mistral3ForConditionalGeneration', true],
  ['InternVLForConditionalGeneration', true],
  ['InternVLChatModel', null],
  ['GotOcr2ForConditionalGeneration', true],
  ['Idefics3ForConditionalGeneration', false],
  ['SmolVLMForConditionalGeneration', false],
  ['DeepseekOCRForCausalLM', false],
  ['Glm4vForConditionalGeneration', null],
  ['Glm46VForConditionalGeneration', null],
  ['Glm4vMoeForConditionalGeneration', null],
  ['GlmOcrForConditionalGeneration', null],
  ['Lfm2VlForConditionalGeneration', true],
  ['LightOnOcrForConditionalGeneration', true],
  ['PaddleOCRVLForConditionalGeneration', true],
  // These are their text models, too, with towers beside the layers.
  ['Phi4MMForCausalLM', null],
  ['Phi4MultimodalForCausalLM', null],
  ['VoxtralForConditionalGeneration', null],
  ['VoxtralRealtimeForConditionalGeneration', true],
  ['Qwen2AudioForConditionalGeneration', null],
  ['Qwen3ASRForConditionalGeneration', true],
  ['KimiVLForConditionalGeneration', null],
  ['KimiK25ForConditionalGeneration', null],
  ['Gemma3ForConditionalGeneration', true],
  ['Gemma3nForConditionalGeneration', true],
  ['Gemma4ForConditionalGeneration', true],
  ['Gemma4UnifiedForConditionalGeneration', true],
  ['Qwen2VLForConditionalGeneration', false],
  ['Qwen2_5_VLForConditionalGeneration', false],
  ['Qwen3VLForConditionalGeneration', false],
  ['Qwen3VLMoeForConditionalGeneration', false],
  ['Qwen3_5ForConditionalGeneration', false],
  ['Qwen3_5MoeForConditionalGeneration', false],
]);

const QWEN2_VL = {
  modelType: 'qwen2',
  defaults: {
    num_key_value_heads: 8,
    rms_norm_eps: 1e-5,
    max_position_embeddings: 32768,
    max_window_layers: 80,
    rope_theta: 1e6,
  },
};
/** Types of text models that exist only within others → the type that computes the same, with defaults that differ. */
const TYPES = new Map<string, WrappedType>([
  ...WRAPPED_TYPES,
  ['kimi_k2', { modelType: 'deepseek_v3', defaults: {} }],
  ['qwen2_vl', QWEN2_VL],
  ['qwen2_vl_text', QWEN2_VL],
  ['qwen2_5_vl', QWEN2_VL],
  ['qwen2_5_vl_text', QWEN2_VL],
  [
    'qwen3_vl_text',
    { modelType: 'qwen3', defaults: { max_position_embeddings: 128000, rope_theta: 500000 } },
  ],
  [
    'qwen3_vl_moe_text',
    {
      modelType: 'qwen3_moe',
      defaults: {
        max_position_embeddings: 128000,
        rope_theta: 500000,
        num_key_value_heads: 16,
        num_experts: 60,
        num_experts_per_tok: 4,
        moe_intermediate_size: 1408,
        norm_topk_prob: true,
      },
    },
  ],
]);

const SIZES = { hidden_size: 4096, num_hidden_layers: 32, num_attention_heads: 32 };
/** Sizes that a text_config may omit, with the defaults of transformers' configuration class. */
const DEFAULT_SIZES: ReadonlyMap<string, Json> = new Map([
  ['llama', { ...SIZES, vocab_size: 32000, intermediate_size: 11008 }],
  [
    'llama4_text',
    {
      vocab_size: 202048,
      hidden_size: 5120,
      intermediate_size: 8192,
      num_hidden_layers: 48,
      num_attention_heads: 40,
    },
  ],
  ['mistral', { ...SIZES, vocab_size: 32000, intermediate_size: 14336 }],
  ['ministral3', { ...SIZES, num_hidden_layers: 34, vocab_size: 131072, intermediate_size: 14336 }],
  ['qwen2', { ...SIZES, vocab_size: 151936, intermediate_size: 22016 }],
  ['qwen3', { ...SIZES, vocab_size: 151936, intermediate_size: 22016 }],
  [
    'qwen3_moe',
    {
      vocab_size: 151936,
      hidden_size: 2048,
      intermediate_size: 5632,
      num_hidden_layers: 24,
      num_attention_heads: 16,
    },
  ],
]);

/** Keys of the outer config.json that apply to the text model if its own config does not state them. */
const SHARED = ['eos_token_id', 'torch_dtype', 'dtype'];

/** Classes around a text model that only Python code of their repositories defines, or defined before transformers did; none of it is looked at. */
export const CODE_ONLY: readonly string[] = [
  'DeepseekOCRForCausalLM',
  'InternVLChatModel',
  'KimiK25ForConditionalGeneration',
  'KimiVLForConditionalGeneration',
  'PaddleOCRVLForConditionalGeneration',
];

/** Keys of the text model's configuration within a class: transformers', InternVLChatModel's and DeepSeek-OCR's. */
const TEXT_KEYS = ['text_config', 'llm_config', 'language_config'];

/** Types of text models where their configuration states none, or that of another class. */
const TYPES_OF_CLASSES: ReadonlyMap<string, string> = new Map([['DeepseekOCRForCausalLM', 'deepseek']]);

/** The configuration with the parts of the class: all of it, or in the first layout of Qwen3-ASR the one of its `thinker`. */
export function partsOf(config: Json): Json {
  const thinker = config['thinker_config'];
  return isObject(thinker) ? thinker : config;
}

/** Names of the classes that are opened as the text model within them. */
export function wrapperClasses(): string[] {
  return [...WRAPPERS.keys()];
}

/** Text models of WRAPPERS that pipelines of images have alone, without their heads. */
const ALONE: readonly string[] = ['Qwen2_5_VLTextModel'];

/** Returns the text model of a class that was saved alone; null: the class is another. */
export function textAlone(config: Json, className: string): TextHalf | null {
  const half = ALONE.includes(className) ? halfOf(config, className, null) : null;
  return half && { ...half, config: withTextPositions(half.config) };
}

/** Returns the text model within a class; null: the class wraps none, or the text model's class is not built in. */
export function textHalf(config: Json, className: string): TextHalf | null {
  const half = wrappedHalf(config, className);
  return half && { ...half, config: withTextPositions(half.config) };
}

/**
 * The text model within a class, for prompts that hold images: the sections of its positions stand as `position_sections`, which no
 * published configuration has, so that models opened for text alone never read them.
 */
export function multimodalText(config: Json, className: string): TextHalf | null {
  const half = wrappedHalf(config, className);
  return half && { ...half, config: withSections(half.config) };
}

/** The text model within a class with all that the class adds to its configuration; null: see `textHalf`. */
export function wrappedHalf(config: Json, className: string): TextHalf | null {
  const tiedByDefault = WRAPPERS.get(className);
  return tiedByDefault === undefined ? null : halfOf(config, className, tiedByDefault);
}

function halfOf(config: Json, className: string, tiedByDefault: boolean | null): TextHalf | null {
  const outer = partsOf(config);
  // Configs of Qwen2-VL from 2024 have no text_config.
  const key = TEXT_KEYS.find((one) => isObject(outer[one]));
  const inner = key === undefined ? outer : (outer[key] as Json);
  const type = TYPES_OF_CLASSES.get(className) ?? String(inner['model_type']);
  const { modelType, defaults } = TYPES.get(type) ?? { modelType: type, defaults: {} };
  const known = textClasses().find((one) => one.modelType === modelType);
  if (known === undefined && CODE_ONLY.includes(className)) throw unknownText(className, inner, key);
  if (known === undefined) return null;
  const shared = Object.fromEntries(
    SHARED.flatMap((key) => (config[key] == null ? [] : [[key, config[key]]])),
  );
  const tied =
    tiedByDefault === null ? {} : { tie_word_embeddings: outer['tie_word_embeddings'] ?? tiedByDefault };
  const stated = { ...shared, ...inner, ...tied, model_type: modelType };
  return {
    config: withDefaultType({ ...DEFAULT_SIZES.get(modelType), ...leftOut(defaults, stated), ...stated }),
    architecture: known.name,
  };
}

function unknownText(className: string, inner: Json, key: string | undefined): EngineError {
  const stated = inner['architectures'];
  const text = Array.isArray(stated) ? String(stated[0]) : String(inner['model_type']);
  return unsupported(
    say`config.json: the language model of this ${className} is ${text}, which is not built; choose one whose language model is: ${listsClasses('are')}`,
    key ?? 'model_type',
  );
}

/** Returns the defaults of keys that are not stated; a rope_theta among the rope parameters counts as stated. */
function leftOut(defaults: Json, stated: Json): Json {
  const rope = stated['rope_parameters'];
  const hasTheta = isObject(rope) && 'rope_theta' in rope;
  return Object.fromEntries(Object.entries(defaults).filter(([key]) => key !== 'rope_theta' || !hasTheta));
}

/** Removes the sections of multimodal positions from the rope settings, because their parts are equal for text. */
export function withTextPositions(config: Json): Record<string, unknown> {
  return withRope(config, ({ mrope_section: _section, mrope_interleaved: _interleaved, ...plain }) => plain);
}

/** Parts of a position: numbers of frequencies for time, height and width, and whether they take turns. */
interface Sections {
  /** Those of transformers' configuration class, where none are stated. */
  sections: readonly number[];
  interleaved: boolean;
}

const QWEN2_SECTIONS: Sections = { sections: [16, 24, 24], interleaved: false };

/** Adds the sections of positions as `position_sections`. */
export function withSections(
  config: Json,
  { sections, interleaved }: Sections = QWEN2_SECTIONS,
): Record<string, unknown> {
  const settings = (key: string): Json => (isObject(config[key]) ? config[key] : {});
  const key = Object.keys(settings('rope_scaling')).length > 0 ? 'rope_scaling' : 'rope_parameters';
  const rope = settings(key);
  const own = { position_sections: rope['mrope_section'] ?? sections, position_interleaved: interleaved };
  return { ...config, [key]: { ...rope, ...own } };
}

/** Files of Qwen2-VL call the frequencies of the default type `mrope`. */
function withDefaultType(config: Json): Record<string, unknown> {
  return withRope(config, (rope) => {
    const types = ['type', 'rope_type'].filter((name) => rope[name] === 'mrope');
    return { ...rope, ...Object.fromEntries(types.map((name) => [name, 'default'])) };
  });
}

/** Returns a configuration with other rope settings, wherever it states them. */
function withRope(config: Json, change: (rope: Json) => Json): Record<string, unknown> {
  const changed = ['rope_scaling', 'rope_parameters'].flatMap((key) => {
    const rope = config[key];
    return isObject(rope) ? [[key, change(rope)] as const] : [];
  });
  return { ...config, ...Object.fromEntries(changed) };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
