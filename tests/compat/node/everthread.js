// Where Everthread is, and a session of one's own for each test.

import OpenAI from "openai";

export const url = process.env.EVERTHREAD_URL;
export const key = process.env.EVERTHREAD_KEY;

export const client = new OpenAI({ baseURL: url, apiKey: key, maxRetries: 0 });

/** The header that makes a conversation persistent, named after the test. */
export const session = (test, kind = "") => ({
  "X-Hermes-Session-Id": `node:${kind}${test.name}`.slice(0, 200),
});

export const weather = (city) => `snow in ${city}`;
