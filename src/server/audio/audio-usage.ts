/** Seconds of sound, as OpenAI's interface counts them. */
export const usageOf = (seconds: number) => ({ type: 'duration' as const, seconds: Math.ceil(seconds) });
