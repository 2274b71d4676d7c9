// What a model says of the ways in which ranks may divide its work.

import type { CallArguments } from '../calls/call-arguments.ts';
import type { ResolvedImageRequest } from '../calls/image-model.ts';

export interface RankRules {
  /** Why both passes of a request with guidance are computed by one device; left out, or null: two may do so. */
  passesTogether?(request: { values: ResolvedImageRequest; call: CallArguments }): string | null;
  /**
   * Heads of keys of a model whose tokens several devices may divide, or why they may not; left out: convolutions see them all. `isWhole`: devices
   * that divide matrices have all heads each.
   */
  tokens?:
    | { heads: number; isWhole?: boolean; because?: undefined }
    | { because: string; heads?: undefined; isWhole?: undefined };
}
