// What a model says of the ways in which ranks may divide its work.

import type { CallArguments } from '../calls/call-arguments.ts';
import type { ResolvedImageRequest } from '../calls/image-model.ts';

export interface RankRules {
  /** Why both passes of a request with guidance are computed by one device; left out, or null: two may do so. */
  passesTogether?(request: { values: ResolvedImageRequest; call: CallArguments }): string | null;
  /** Whether each device may have a part of the tokens; left out: each has all. */
  splitsTokens?: true;
}
