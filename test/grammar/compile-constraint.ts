// A constraint compiled without the engine's queue and threads.

import { compileWithin, ruleOfConstraint } from '../../src/grammar/front-end.ts';
import type { CompileWorkOptions } from '../../src/grammar/bounds/compile-work.ts';
import type { CompiledGrammar } from '../../src/grammar/rules/compiled-grammar.ts';
import type { TextConstraint } from '../../src/grammar/text-constraint.ts';

export function compileConstraint(
  constraint: TextConstraint,
  available: Uint8Array,
  options?: CompileWorkOptions,
): CompiledGrammar {
  return compileWithin((limits) => ruleOfConstraint(constraint, limits), available, options);
}
