// What modules of sentence-transformers compute of a text's pooled states, on the device.

import { denseName, type DenseModule } from '../../files/checkpoint/dense-modules.ts';
import { activation } from '../../kernels/activation.ts';
import { linear } from '../../kernels/matmul.ts';
import { meanRows } from '../../kernels/mean-rows.ts';
import type { TextDeclaration } from '../../models/text/blocks/architecture.ts';

/** The declaration of a model whose vectors pass through these modules. */
export function withDense(declaration: TextDeclaration, modules: readonly DenseModule[]): TextDeclaration {
  if (modules.length === 0) return declaration;
  return {
    ...declaration,
    vectors: modules.at(-1)!.rows,
    embed(weights) {
      const states = declaration.embed!(weights);
      const matrices = modules.map((one) => ({
        ...one,
        // A router keeps its stored format.
        matrix: weights.router(`${denseName(one)}.weight`, one.rows, one.columns, { bias: one.bias }),
      }));
      return (tape, batch, stores) => {
        const pooled = meanRows(states(tape, batch, stores), batch.pooled); // [sampled, hidden]
        return matrices.reduce((x, { matrix, activation: name }) => {
          const y = linear(x, matrix);
          return name === 'none' ? y : activation(y, name);
        }, pooled);
      };
    },
  };
}
