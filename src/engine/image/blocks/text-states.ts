// States of texts by the language model of a pipeline, for families whose denoisers read them as conditions.

import type { Region, Tensor } from '../../../gpu/tensor.ts';
import { joinTokens, takeTokens } from '../../../kernels/copy-rows.ts';
import { linearCombination } from '../../../kernels/linear-combination.ts';
import type { TextDeclaration, TextForward } from '../../../models/text/blocks/architecture.ts';
import type { WeightTable } from '../../../models/weights.ts';
import { textStates, type StatesText } from '../../text/step/states.ts';
import { compute, finitely, freeTensors, type ComputeOptions } from '../recording/compute.ts';
import type { ComponentAccess } from '../components/components.ts';
import { Scope } from '../recording/scope.ts';

export type TokenRange = readonly [first: number, count: number];

export interface StatesRequest {
  /** Component that holds the language model. */
  component: string;
  declaration: TextDeclaration;
  page(table: WeightTable): TextForward;
  texts: readonly StatesText[];
  /** Tokens at the beginning of each text whose states are left out. */
  dropped?: number;
  /** Ranges of tokens of each text whose states are kept, one after the other; left out: all but those that are dropped. */
  kept?: readonly (readonly TokenRange[])[];
  options: ComputeOptions;
}

/** Returns the states of each text, [1, tokens, columns]; the caller frees them. */
export async function encodeStates(
  components: ComponentAccess,
  { component, declaration, page, texts, dropped = 0, kept, options }: StatesRequest,
): Promise<Tensor[]> {
  const { device } = components;
  using inputs = new Scope(device);
  const one = inputs.hold(device.tensor('step', 'one', [1], Float32Array.of(1)));
  using encoder = await components.load(component, 'states', page, options);
  using results = new Scope(device);
  const states: Tensor[] = [];
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
    states.push(results.hold(await finitely(device, options, 'the text encoder', encode, free)));
  }
  results.release();
  return states;
}

/** Tokens of all ranges, one after the other; x [1, tokens, columns] */
function takeRanges(x: Tensor, ranges: readonly TokenRange[]): Tensor {
  return ranges
    .map(([first, count]) => (count === x.shape[1] ? x : takeTokens(x, first, count)))
    .reduce(joinTokens);
}
