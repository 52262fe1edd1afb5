// The AI SDK: `ai` with `@ai-sdk/openai` (Responses and chat) and `@ai-sdk/openai-compatible`.

import assert from "node:assert/strict";
import { test } from "node:test";

import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Output, generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

import { client, key, session, url, weather } from "./everthread.js";

const openai = createOpenAI({ baseURL: url, apiKey: key });
const compatible = createOpenAICompatible({
  name: "everthread",
  baseURL: url,
  apiKey: key,
  supportsStructuredOutputs: true,
  includeUsage: true,
});
const models = {
  responses: openai("hermes"),
  chat: openai.chat("hermes"),
  compatible: compatible("hermes"),
};
const tools = {
  get_weather: tool({
    description: "The weather at a place.",
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => weather(city),
  }),
};

for (const [kind, model] of Object.entries(models)) {
  test(`${kind}: a session remembers`, async (t) => {
    const headers = session(t);
    await generateText({ model, headers, prompt: "My name is Alex." });
    const { text, usage } = await generateText({ model, headers, prompt: "What is my name?" });
    assert.equal(text, "Your name is Alex.");
    assert.ok(usage.totalTokens > 0);
  });

  test(`${kind}: a stream of the session remembers too`, async (t) => {
    const headers = session(t);
    await streamText({ model, headers, prompt: "My name is Alex." }).text;
    const result = streamText({ model, headers, prompt: "What is my name?" });
    const pieces = [];
    for await (const piece of result.textStream) pieces.push(piece);
    assert.equal(pieces.join(""), "Your name is Alex.");
    assert.ok(pieces.length > 1);
    assert.equal(await result.finishReason, "stop");
  });

  test(`${kind}: its own history works without a session`, async () => {
    const question = { role: "user", content: "My name is Alex." };
    const { responseMessages } = await generateText({ model, messages: [question] });
    const messages = [question, ...responseMessages, { role: "user", content: "What is my name?" }];
    assert.equal((await generateText({ model, messages })).text, "Your name is Alex.");
  });

  test(`${kind}: tools are called, and the loop goes on`, async () => {
    const prompt = "How is the weather in Bern and in Oslo?";
    const { text, steps } = await generateText({ model, tools, prompt, stopWhen: stepCountIs(4) });
    assert.equal(text, "The tools say: snow in Bern; snow in Oslo");
    assert.equal(steps.length, 2);
    const streamed = streamText({ model, tools, prompt, stopWhen: stepCountIs(4) });
    assert.equal(await streamed.text, text);
  });

  test(`${kind}: an object is filled`, async (t) => {
    const headers = session(t);
    await generateText({ model, headers, prompt: "My name is Alex." });
    const output = Output.object({ schema: z.object({ name: z.string(), age: z.number() }) });
    const answer = await generateText({ model, headers, prompt: "My age is 34.", output });
    assert.deepEqual(answer.output, { name: "Alex", age: 34 });
  });

  test(`${kind}: instructions are followed`, async () => {
    const { text } = await generateText({
      model,
      instructions: "Begin every answer with Ahoy",
      prompt: "What is 20 + 22?",
    });
    assert.equal(text, "Ahoy It is 42.");
  });
}

test("responses: continued by their id", async () => {
  const model = models.responses;
  const told = await generateText({ model, prompt: "My name is Alex." });
  const previousResponseId = told.providerMetadata.openai.responseId;
  const asked = await generateText({ model, prompt: "What is my name?", providerOptions: { openai: { previousResponseId } } });
  assert.equal(asked.text, "Your name is Alex.");
});

test("responses: a conversation is continued by its id", async () => {
  const model = models.responses;
  const providerOptions = { openai: { conversation: (await client.conversations.create()).id } };
  await generateText({ model, prompt: "My name is Alex.", providerOptions });
  assert.equal((await generateText({ model, prompt: "What is my name?", providerOptions })).text, "Your name is Alex.");
});

for (const store of [true, false]) {
  test(`responses: what the model thought is sent back, ${store ? "by reference" : "in full"}`, async () => {
    const model = openai("gpt-5"); // the provider knows by the name that this one thinks
    const providerOptions = { openai: { store, reasoningEffort: "low", reasoningSummary: "auto" } };
    const question = { role: "user", content: "How is the weather in Oslo?" };
    const more = { model, tools, providerOptions, stopWhen: stepCountIs(4) };
    const first = await generateText({ ...more, messages: [question] });
    assert.equal(first.text, "The tools say: snow in Oslo");
    assert.match(first.steps[0].reasoningText, /weather in Oslo/);
    const history = [question, ...first.responseMessages, { role: "user", content: "What is 20 + 22?" }];
    const result = streamText({ ...more, messages: history });
    assert.equal(await result.text, "It is 42.");
  });
}
