// Schemas of / and /openapi.json.

import { z } from 'zod';
import { texts } from '../http/reply-members.ts';

export const Home = z.strictObject({
  name: z.literal('svc-engine'),
  version: z.string().optional(),
  ...texts('docs', 'openapi', 'models'),
});

export const OpenApi = z.looseObject({ openapi: z.literal('3.1.0') }).describe('This document.');
