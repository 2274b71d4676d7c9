// Schemas of / and /openapi.json.

import { z } from 'zod';

export const Home = z.strictObject({
  name: z.literal('svc-engine'),
  version: z.string().optional(),
  docs: z.string(),
  openapi: z.string(),
  models: z.string(),
});

export const OpenApi = z.looseObject({ openapi: z.literal('3.1.0') }).describe('This document.');
