// Texts of pipelines whose text encoder is a language model, alone or within a model that also sees images: states of a text's tokens, which the
// denoiser reads as conditions.

import type { Region, Tensor } from '../../../gpu/tensor.ts';
import { joinTokens, takeTokens } from '../../../kernels/copy-rows.ts';
import { linearCombination } from '../../../kernels/linear-combination.ts';
import { ConfigError } from '../../../models/config-values.ts';
import type { TextDeclaration, TextForward } from '../../../models/text/blocks/architecture.ts';
import { readText, textClasses } from '../../../models/text/registry.ts';
import { textAlone, textHalf } from '../../../models/text/wrappers.ts';
import type { WeightTable } from '../../../models/weights.ts';
import { textStates, type StatesText } from '../../text/step/hidden-states.ts';
import { compute, finitely, freeTensors, type ComputeOptions } from '../recording/compute.ts';
import type { ComponentAccess } from '../components/components.ts';
import { Scope } from '../recording/scope.ts';
import type { TextStates } from './transformer-model.ts';

/** Component that holds the language model. */
export const ENCODER = 'text_encoder';

/** How a family reads a language model. */
export interface DecoderReading {
  /** Reads its configuration for texts alone, or for texts with images; left out: for texts alone. */
  half?: typeof textHalf;
  page(declaration: TextDeclaration, table: WeightTable): TextForward;
}

export type TokenRange = readonly [first: number, count: number];

export interface StatesRequest {
  texts: readonly StatesText[];
  /** Tokens at the beginning of each text whose states are left out. */
  dropped?: number;
  /** Ranges of tokens of each text whose states are kept, one after the other; left out: all but those that are dropped. */
  kept?: readonly (readonly TokenRange[])[];
  options: ComputeOptions;
}

/** Reads the configuration. Throws unsupported for a class that is not built. */
export function decoderDeclaration(components: ComponentAccess, half = textHalf): TextDeclaration {
  const { name, className, config } = components.get(ENCODER);
  const isAlone = textClasses().some((one) => one.name === className);
  const found = isAlone
    ? { config, architecture: className }
    : (textAlone(config, className) ?? half(config, className));
  if (found !== null) return readText(found.config, found.architecture);
  const problem = `the language model within ${className} is not built: fetch the pipeline again`;
  throw new ConfigError('unsupported', `${name}/config.json`, problem, 'text_encoder/config.json');
}

/** Throws bad_checkpoint for weights that do not match the configuration, and for a damaged tokenizer. */
export async function checkDecoder(
  components: ComponentAccess,
  { half, page }: DecoderReading,
): Promise<TextDeclaration> {
  const declaration = decoderDeclaration(components, half);
  components.check(ENCODER, (table) => page(declaration, table));
  await components.tokenizer('tokenizer');
  return declaration;
}

/** Returns the states of each text, [1, tokens, columns]; the caller frees them. */
export async function readDecoder(
  components: ComponentAccess,
  { half, page }: DecoderReading,
  { texts, dropped = 0, kept, options }: StatesRequest,
): Promise<TextStates[]> {
  const { device } = components;
  const declaration = decoderDeclaration(components, half);
  using inputs = new Scope(device);
  const one = inputs.hold(device.tensor('step', 'one', [1], Float32Array.of(1)));
  const build = (table: WeightTable) => page(declaration, table);
  using encoder = await components.load(ENCODER, 'states', build, options);
  using results = new Scope(device);
  const all: TextStates[] = [];
  for (const [i, text] of texts.entries()) {
    const tokens = text.ids.length + (text.padding?.count ?? 0);
    const ranges = kept?.[i] ?? [[dropped, tokens - dropped]];
    const encode = async (way: ComputeOptions, notFinite: Region): Promise<Tensor> => {
      using given = new Scope(device);
      const made = given.hold(await textStates(device, declaration, encoder.page, text, way));
      const [part] = await compute(device, way, (tape) => [
        linearCombination([takeRanges(made.on(tape), ranges)], one.region!, notFinite),
      ]);
      return part!;
    };
    const free = (made: Tensor): void => freeTensors(device, [made]);
    const states = await finitely(device, options, 'the text encoder', encode, free);
    all.push({ states: results.hold(states) });
  }
  results.release();
  return all;
}

/** Tokens of all ranges, one after the other; x [1, tokens, columns] */
function takeRanges(x: Tensor, ranges: readonly TokenRange[]): Tensor {
  return ranges
    .map(([first, count]) => (count === x.shape[1] ? x : takeTokens(x, first, count)))
    .reduce(joinTokens);
}
