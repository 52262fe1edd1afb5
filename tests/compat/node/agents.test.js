// `@openai/agents`: its sessions, its streams, its tools.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  Agent,
  MemorySession,
  OpenAIChatCompletionsModel,
  OpenAIConversationsSession,
  OpenAIResponsesCompactionSession,
  OpenAIResponsesModel,
  OpenAIResponsesWSModel,
  run,
  setTracingDisabled,
  tool,
} from "@openai/agents";
import { WebSocket } from "ws";
import { z } from "zod";

import { client, session, weather } from "./everthread.js";

setTracingDisabled(true);
globalThis.WebSocket ??= WebSocket; // Node has one of its own since 22

const kinds = { chat: OpenAIChatCompletionsModel, responses: OpenAIResponsesModel };
const responses = new OpenAIResponsesModel(client, "hermes");
const getWeather = tool({
  name: "get_weather",
  description: "The weather at a place.",
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => weather(city),
});

for (const [kind, Model] of Object.entries(kinds)) {
  const model = new Model(client, "hermes");

  test(`${kind}: its own session works`, async () => {
    const agent = new Agent({ name: "a", model });
    const memory = new MemorySession();
    await run(agent, "My name is Alex.", { session: memory });
    assert.equal((await run(agent, "What is my name?", { session: memory })).finalOutput, "Your name is Alex.");
  });

  test(`${kind}: a stream gives the same answer`, async () => {
    const agent = new Agent({ name: "a", model });
    const result = await run(agent, "What is 20 + 22?", { stream: true });
    let text = "";
    for await (const piece of result.toTextStream()) text += piece;
    await result.completed;
    assert.equal(text, "It is 42.");
    assert.equal(result.finalOutput, "It is 42.");
  });

  for (const stream of [false, true]) {
    test(`${kind}: tools are called${stream ? ", streamed" : ""}`, async () => {
      const agent = new Agent({ name: "a", model, tools: [getWeather] });
      const result = await run(agent, "How is the weather in Bern and in Oslo?", { stream });
      if (stream) await result.completed;
      assert.equal(result.finalOutput, "The tools say: snow in Bern; snow in Oslo");
    });
  }

  test(`${kind}: an output type is filled`, async () => {
    const outputType = z.object({ name: z.string(), age: z.number() });
    const agent = new Agent({ name: "a", model, outputType });
    const result = await run(agent, "My name is Alex. My age is 34.");
    assert.deepEqual(result.finalOutput, { name: "Alex", age: 34 });
  });

  test(`${kind}: our session remembers between runs`, async (t) => {
    const agent = new Agent({ name: "a", model: new Model(client.withOptions({ defaultHeaders: session(t) }), "hermes") });
    await run(agent, "My name is Alex.");
    assert.equal((await run(agent, "What is my name?")).finalOutput, "Your name is Alex.");
  });
}

test("a response is continued by its id", async () => {
  const agent = new Agent({ name: "a", model: responses, tools: [getWeather] });
  const told = await run(agent, "My name is Alex.");
  const more = await run(agent, "How is the weather in Oslo?", { previousResponseId: told.lastResponseId });
  assert.equal(more.finalOutput, "The tools say: snow in Oslo");
  const asked = await run(agent, "What is my name?", { previousResponseId: more.lastResponseId });
  assert.equal(asked.finalOutput, "Your name is Alex.");
});

test("a conversation is continued by its id", async () => {
  const conversationId = (await client.conversations.create()).id;
  const agent = new Agent({ name: "a", model: responses });
  await run(agent, "My name is Alex.", { conversationId });
  assert.equal((await run(agent, "What is my name?", { conversationId })).finalOutput, "Your name is Alex.");
});

test("a conversation is its session", async () => {
  const agent = new Agent({ name: "a", model: responses, tools: [getWeather] });
  const conversation = new OpenAIConversationsSession({ client });
  await run(agent, "My name is Alex.", { session: conversation });
  await run(agent, "How is the weather in Oslo?", { session: conversation });
  const asked = await run(agent, "What is my name?", { session: conversation });
  assert.equal(asked.finalOutput, "Your name is Alex.");
  const items = await conversation.getItems();
  assert.equal(items.length, 8);
  assert.equal((await conversation.popItem()).role, "assistant");
  assert.equal((await conversation.getItems()).length, 7);
  await conversation.clearSession();
});

for (const compactionMode of ["previous_response_id", "input"]) {
  test(`a compaction session keeps what matters: ${compactionMode}`, async () => {
    const agent = new Agent({ name: "a", model: responses });
    const compacting = new OpenAIResponsesCompactionSession({
      client,
      compactionMode,
      underlyingSession: new MemorySession(),
      shouldTriggerCompaction: ({ compactionCandidateItems }) => compactionCandidateItems.length >= 3,
    });
    await run(agent, "My name is Alex.", { session: compacting });
    for (const n of [1, 2, 3, 4]) await run(agent, `What is ${n} + ${n}?`, { session: compacting });
    assert.ok((await compacting.getItems()).some((item) => item.type === "compaction"));
    const asked = await run(agent, "What is my name?", { session: compacting });
    assert.equal(asked.finalOutput, "Your name is Alex.");
  });
}

test("it can talk over a WebSocket", async () => {
  const model = new OpenAIResponsesWSModel(client, "hermes");
  try {
    const agent = new Agent({ name: "a", model, tools: [getWeather] });
    const told = await run(agent, "My name is Alex.");
    const asked = await run(agent, "What is my name?", { previousResponseId: told.lastResponseId });
    assert.equal(asked.finalOutput, "Your name is Alex.");
    assert.equal((await run(agent, "How is the weather in Oslo?")).finalOutput, "The tools say: snow in Oslo");
  } finally {
    await model.close?.();
  }
});
