// The routes that judge texts, under the addresses of several servers.

import { alias, type RouteTable } from '../service/route.ts';
import { CLASSIFY } from './classify.ts';
import { POOLING } from './pooling.ts';
import { RERANK } from './rerank.ts';
import { SCORE } from './score.ts';

export const SCORE_ROUTES: RouteTable = {
  '/v1/rerank': { POST: RERANK },
  '/rerank': { POST: alias('/v1/rerank', RERANK) },
  '/v2/rerank': { POST: alias('/v1/rerank', RERANK) },
  '/v1/score': { POST: SCORE },
  '/score': { POST: alias('/v1/score', SCORE) },
  '/v1/classify': { POST: CLASSIFY },
  '/classify': { POST: alias('/v1/classify', CLASSIFY) },
  '/pooling': { POST: POOLING },
};
