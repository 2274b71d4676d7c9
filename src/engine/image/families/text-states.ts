// States of texts by the language model of a pipeline, for families whose denoisers read them as conditions.

import type { Region, Tensor } from '../../../gpu/tensor.ts';
import { takeTokens } from '../../../kernels/copy-rows.ts';
import { linearCombination } from '../../../kernels/linear-combination.ts';
import type { TextDeclaration, TextForward } from '../../../models/text/architecture.ts';
import type { WeightTable } from '../../../models/weights.ts';
import { textStates, type StatesText } from '../../text/step/states.ts';
import { compute, finitely, freeTensors, type ComputeOptions } from '../compute.ts';
import type { ComponentAccess } from '../components.ts';
import { Scope } from '../scope.ts';

export interface StatesRequest {
  /** Component that holds the language model. */
  component: string;
  declaration: TextDeclaration;
  page(table: WeightTable): TextForward;
  texts: readonly StatesText[];
  /** Tokens at the beginning of each text whose states are left out. */
  dropped?: number;
  options: ComputeOptions;
}

/** Returns the states of each text, [1, tokens, columns]; the caller frees them. */
export async function encodeStates(
  components: ComponentAccess,
  { component, declaration, page, texts, dropped = 0, options }: StatesRequest,
): Promise<Tensor[]> {
  const { device } = components;
  using inputs = new Scope(device);
  const one = inputs.hold(device.tensor('step', 'one', [1], Float32Array.of(1)));
  using encoder = await components.load(component, 'states', page, options);
  using results = new Scope(device);
  const states: Tensor[] = [];
  for (const text of texts) {
    const encode = async (way: ComputeOptions, notFinite: Region): Promise<Tensor> => {
      using given = new Scope(device);
      const made = given.hold(await textStates(device, declaration, encoder.page, text, way));
      const [kept] = await compute(device, way, (tape) => {
        const all = made.on(tape);
        const part = dropped === 0 ? all : takeTokens(all, dropped, text.ids.length - dropped);
        return [linearCombination([part], one.region!, notFinite)];
      });
      return kept!;
    };
    const free = (made: Tensor): void => freeTensors(device, [made]);
    states.push(results.hold(await finitely(device, options, 'the text encoder', encode, free)));
  }
  results.move();
  return states;
}
