// Defaults that follow from a checkpoint: sampling values, end tokens, and the quantization and rows that fit into memory.

import { type Message, type Prose, option, say, warning } from '../../../files/message.ts';
import type { Checkpoint } from '../../../files/checkpoint/checkpoint.ts';
import type { Tokenizer } from '../../../files/tokenizer/tokenizer.ts';
import { badCheckpoint, badRequest, EngineError } from '../../../files/error.ts';
import { bytesText } from '../../../files/bytes-text.ts';
import { countText } from '../../../files/count-text.ts';
import type { Device } from '../../../gpu/device.ts';
import { paddedColumns } from '../../../gpu/tensor.ts';
import { TILE_ROWS } from '../../../kernels/batch.ts';
import { boundsText, COUNTS, isCount } from '../../../models/config-bounds.ts';
import type { TextDeclaration } from '../../../models/text/blocks/architecture.ts';
import { shown } from '../../../models/config-values.ts';
import type { Setting } from '../../../options/setting.ts';
import { mapSampling } from '../../../options/text-request.ts';
import { ruleOf } from '../../input/rules.ts';
import { SLICED_ROWS } from '../step/recordings.ts';
import type { TextModelOptions } from '../calls/text-model.ts';

/**
 * Returns the values of generation_config.json, or of a GGUF file's metadata, over the contract's defaults, or only the defaults for 'contract'. Throws
 * bad_checkpoint for a value that a request could not have either.
 */
export function samplingDefaults(checkpoint: Checkpoint, from: 'model' | 'contract') {
  const { configSource, generationConfig } = checkpoint;
  const [file, named] =
    configSource.metadata !== null
      ? [configSource.name, 'gguf' as const]
      : [GENERATION_CONFIG, 'generation_config.json' as const];
  const own = mapSampling((_, { modelKey }) =>
    from === 'model' ? (generationConfig[modelKey] ?? null) : null,
  );
  return {
    sampling: mapSampling((name, setting) =>
      own[name] === null ? setting.default : asAllowed(setting, own[name], file),
    ),
    source: mapSampling((name) => (own[name] === null ? 'contract' : named)),
  };
}

function asAllowed({ kind, modelKey }: Setting & { modelKey: string }, value: unknown, file: string): number {
  try {
    ruleOf(kind)(value, `${file}: ${modelKey}`);
    return value as number;
  } catch (cause) {
    if (!(cause instanceof EngineError)) throw cause;
    throw badCheckpoint(
      say`${cause}; correct it there, or open the model with ${option('samplingDefaults')} contract`,
      modelKey,
      cause,
    );
  }
}

const GENERATION_CONFIG = 'generation_config.json';

/**
 * Returns every token of the vocabulary that ends a reply: generation_config.json, config.json and the tokenizer may each name
 * some. Throws bad_checkpoint if a file names something that is not a token id.
 */
export function endTokens(checkpoint: Checkpoint, tokenizer: Tokenizer, vocabulary: number): number[] {
  const ids = [...configuredEndTokens(checkpoint), ...(tokenizer.eosId === null ? [] : [tokenizer.eosId])];
  // An id beyond the vocabulary is never sampled: some published files name end tokens of a larger tokenizer.
  return [...new Set(ids)].filter((id) => id < vocabulary);
}

/** Returns the end tokens that generation_config.json and config.json name, each once. Throws bad_checkpoint for a value that is not a token id. */
export function configuredEndTokens({
  generationConfig,
  config,
}: Pick<Checkpoint, 'generationConfig' | 'config'>): number[] {
  return [...new Set([...endIds(GENERATION_CONFIG, generationConfig), ...endIds('config.json', config)])];
}

/**
 * Returns the tokens of the vocabulary that replies never have: those of transformers' suppress_tokens, in generation_config.json or an older config.json.
 * Throws bad_checkpoint for anything but a list of numbers.
 */
export function suppressedTokens(
  { generationConfig, config }: Pick<Checkpoint, 'generationConfig' | 'config'>,
  vocabulary: number,
): number[] {
  const key = 'suppress_tokens';
  const own = generationConfig[key];
  const named: unknown = own ?? config[key] ?? [];
  if (!Array.isArray(named) || !named.every(Number.isInteger))
    throw badCheckpoint(
      `${own == null ? 'config.json' : GENERATION_CONFIG}: ${key} is ${shown(named)}, a list of token ids is needed`,
      key,
    );
  return [...new Set(named as number[])].filter((id) => id >= 0 && id < vocabulary);
}

function endIds(file: string, { eos_token_id: named }: Readonly<Record<string, unknown>>): number[] {
  const ids = [named ?? []].flat() as unknown[];
  const wrong = ids.find((id) => !isCount(id, COUNTS.eos_token_id));
  if (wrong === undefined) return ids as number[];
  throw badCheckpoint(
    `${file}: eos_token_id is ${shown(named)}, a token id ${boundsText(COUNTS.eos_token_id)} or a list of them is needed`,
    'eos_token_id',
  );
}

/**
 * Rows of the largest step: the widest intermediate must fit into one binding, and every running sequence needs a row; its fixed states
 * must fit into one binding of each layer, too. Where rows of a span see each other, a span fits beside a row of every other sequence, so
 * that it is never put off for them.
 */
export function stepRows(
  device: Device,
  config: TextDeclaration,
  wanted: number | undefined,
  slots: number,
): number {
  const rowsOf = (columns: number): number =>
    Math.floor(device.capabilities.bindingLimit / (4 * paddedColumns(columns)));
  const ofAll = rowsOf(config.widest);
  const fitting = Math.min(ofAll, expertRows(config, rowsOf));
  const tile = (rows: number): number => Math.ceil(rows / TILE_ROWS) * TILE_ROWS;
  const ofStates = config.layers.map((layer) => (layer.kind === 'slot' ? rowsOf(layer.values) : Infinity));
  const mostSlots = Math.min(rowsOf(config.vocabulary), fitting, ...ofStates);
  if (tile(slots) > mostSlots) throw tooManyAtOnce(device, slots, mostSlots - (mostSlots % TILE_ROWS));
  const { span = 1 } = config.inputs;
  const least = tile(slots - 1 + span);
  if (least > fitting) throw tooLongSpan(device, span, slots, fitting - (fitting % TILE_ROWS) + 1 - span);
  const chunk = wanted ?? device.profile.stepRows.text;
  return Math.max(Math.min(tile(chunk), fitting - (fitting % TILE_ROWS)), least);
}

function tooManyAtOnce(device: Device, slots: number, most: number): EngineError {
  return badRequest(
    say`${countText(slots, 'request')} at once ${slots === 1 ? 'needs' : 'need'} more than the ${bytesText(device.capabilities.bindingLimit)} that this adapter binds: lower ${option('maxRunningRequests')} to at most ${most}`,
    'maxRunningRequests',
  );
}

/** `most`: requests that leave room for a span; less than 1: it has none beside any. */
function tooLongSpan(device: Device, span: number, slots: number, most: number): EngineError {
  const { bindingLimit } = device.capabilities;
  const remedy =
    most < 1 ? say`open a smaller model` : say`lower ${option('maxRunningRequests')} to at most ${most}`;
  return badRequest(
    say`an image of ${span} tokens that see each other, beside ${countText(slots, 'request')} at once, needs more than the ${bytesText(bindingLimit)} that this adapter binds: ${remedy}`,
    'maxRunningRequests',
  );
}

/** Number of rows whose expert choices fit into one binding, as tiles of one expert each; Infinity without experts. */
function expertRows({ experts }: TextDeclaration, rowsOf: (columns: number) => number): number {
  if (!experts) return Infinity;
  const unfilled = experts.count * (TILE_ROWS - 1);
  return Math.floor((rowsOf(experts.widest) - unfilled) / experts.chosen);
}

/** Notes that explain why the context in use differs from the model's own, and warnings that it differs from the requested one. */
export function contextNotes(
  { contextLength, maxTotalTokens = Infinity }: TextModelOptions,
  { context: modelContext }: Pick<TextDeclaration, 'context'>,
  inForce: number,
  device: Device,
): Prose[] {
  const notes: Message[] = [];
  const wanted = Math.min(contextLength ?? modelContext, modelContext);
  if (contextLength !== undefined && contextLength > modelContext) {
    notes.push(
      say`${option('contextLength')} ${contextLength} is beyond the ${modelContext} tokens the model was made for; using those`,
    );
  }
  if (inForce < wanted) {
    const limit =
      inForce >= maxTotalTokens
        ? say`${option('maxTotalTokens')} ${maxTotalTokens}`
        : `the memory budget of ${bytesText(device.memoryBudget)}`;
    notes.push(say`the context is shortened from ${wanted} to ${inForce} tokens to fit ${limit}`);
  }
  return contextLength === undefined ? notes : notes.map(warning);
}

/**
 * Notes that tell from how many requests on the replies of a model without batch invariance may depend on each other, or why the option
 * changes nothing. `slots`: requests that are computed together.
 */
export function batchNotes(
  { batchInvariance = true }: Pick<TextModelOptions, 'batchInvariance'>,
  { profile }: Pick<Device, 'profile'>,
  slots: number,
): Prose[] {
  if (batchInvariance) return [];
  const asked = option('batchInvariance');
  if (profile.matvecRows === null)
    return [say`${asked} changes nothing: this adapter has the same kernels for prompts and replies`];
  if (slots <= SLICED_ROWS)
    return [
      say`${asked} changes nothing with at most ${slots} requests at once, as it concerns steps of more than ${SLICED_ROWS}: raise ${option('maxRunningRequests')}, or leave it out`,
    ];
  return [
    say`${asked}: products of steps of more than ${SLICED_ROWS} requests use the kernels of prompts where those are faster, so that a reply may depend on which requests are computed beside it`,
  ];
}
