// The official `openai` client for Node.

import assert from "node:assert/strict";
import { test } from "node:test";

import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { ResponsesWS } from "openai/resources/responses/ws";
import { z } from "zod";

import { client, session, weather } from "./everthread.js";

const Person = z.object({
  name: z.string(),
  mood: z.enum(["glad", "sad"]),
  pets: z.array(z.object({ name: z.string(), age: z.number().int() })),
  nickname: z.string().nullable(),
});
const told = "My name is Alex. My pets are Rex (3) and Tom (9).";
const alex = { name: "Alex", mood: "sad", pets: [{ name: "Rex", age: 3 }, { name: "Tom", age: 9 }], nickname: null };
const city = { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false };

const user = (content) => [{ role: "user", content }];
const chat = (content, headers, more) =>
  client.chat.completions.create({ model: "hermes", messages: user(content), ...more }, { headers });
const say = (input, more, headers) => client.responses.create({ model: "hermes", input, ...more }, { headers });

// --- chat completions ---

test("a session remembers what only an earlier request said", async (t) => {
  await chat("My name is Alex.", session(t));
  const answer = await chat("What is my name?", session(t));
  assert.equal(answer.choices[0].message.content, "Your name is Alex.");
});

for (const [kind, more] of Object.entries({
  words: {},
  tools: { tools: [{ type: "function", function: { name: "get_weather", parameters: city } }] },
  reasoning: { reasoning_effort: "low" },
  cut: { max_completion_tokens: 2 },
})) {
  test(`the plain loop never breaks: ${kind}`, async (t) => {
    let finish;
    for await (const chunk of await chat("How is the weather in Bern?", session(t), { ...more, stream: true })) {
      void chunk.choices[0].delta.content;
      finish = chunk.choices[0].finish_reason ?? finish;
    }
    assert.equal(finish, { tools: "tool_calls", cut: "length" }[kind] ?? "stop");
  });
}

test("the stream helper puts the answer together", async (t) => {
  await chat("My name is Alex.", session(t));
  const stream = client.chat.completions.stream(
    { model: "hermes", messages: user("What is my name?") },
    { headers: session(t) },
  );
  let deltas = "";
  stream.on("content", (delta) => (deltas += delta));
  assert.equal(await stream.finalContent(), "Your name is Alex.");
  assert.equal(deltas, "Your name is Alex.");
});

for (const stream of [false, true]) {
  test(`the tool runner runs the loop${stream ? ", streamed" : ""}`, async () => {
    const runner = client.chat.completions.runTools({
      model: "hermes",
      messages: user("How is the weather in Bern and in Oslo?"),
      stream,
      tools: [
        {
          type: "function",
          function: { name: "get_weather", parameters: city, parse: JSON.parse, function: ({ city }) => weather(city) },
        },
      ],
    });
    assert.equal(await runner.finalContent(), "The tools say: snow in Bern; snow in Oslo");
  });
}

test("a schema is filled", async (t) => {
  await chat(told, session(t));
  const answer = await client.chat.completions.parse(
    { model: "hermes", messages: user("I am sad."), response_format: zodResponseFormat(Person, "person") },
    { headers: session(t) },
  );
  assert.deepEqual(answer.choices[0].message.parsed, alex);
});

test("a stored completion is found again, listed and deleted", async () => {
  const made = await chat("My name is Alex.", {}, { store: true, metadata: { topic: "node" } });
  assert.equal((await client.chat.completions.retrieve(made.id)).choices[0].message.content, made.choices[0].message.content);
  const listed = [];
  for await (const each of client.chat.completions.list({ metadata: { topic: "node" } })) listed.push(each.id);
  assert.deepEqual(listed, [made.id]);
  assert.ok((await client.chat.completions.delete(made.id)).deleted);
  await assert.rejects(client.chat.completions.retrieve(made.id), { status: 404 });
});

// --- responses ---

test("a response goes on from the one it names, and from any", async () => {
  const first = await say("My name is Alex.");
  await say("My name is Robin.", { previous_response_id: first.id });
  const answer = await say("What is my name?", { previous_response_id: first.id });
  assert.equal(answer.output_text, "Your name is Alex.");
});

test("responses: a session remembers", async (t) => {
  await say("My name is Alex.", {}, session(t));
  assert.equal((await say("What is my name?", {}, session(t))).output_text, "Your name is Alex.");
});

test("responses: the stream helper puts the answer together", async () => {
  const first = await say("My name is Alex.");
  const stream = client.responses.stream({ model: "hermes", input: "What is my name?", previous_response_id: first.id });
  let deltas = "";
  for await (const event of stream) if (event.type === "response.output_text.delta") deltas += event.delta;
  assert.equal((await stream.finalResponse()).output_text, "Your name is Alex.");
  assert.equal(deltas, "Your name is Alex.");
});

test("responses: a schema is filled", async () => {
  const first = await say(told);
  const answer = await client.responses.parse({
    model: "hermes",
    input: "I am sad.",
    previous_response_id: first.id,
    text: { format: zodTextFormat(Person, "person") },
  });
  assert.deepEqual(answer.output_parsed, alex);
});

test("responses: tool results go on with the turn", async () => {
  const tools = [{ type: "function", name: "get_weather", parameters: city, strict: true }];
  const asked = await say("How is the weather in Bern and in Oslo?", { tools });
  const results = asked.output.map((call) => ({
    type: "function_call_output",
    call_id: call.call_id,
    output: weather(JSON.parse(call.arguments).city),
  }));
  const answer = await say(results, { tools, previous_response_id: asked.id });
  assert.equal(answer.output_text, "The tools say: snow in Bern; snow in Oslo");
});

test("responses: a stream is read again from the middle", async () => {
  const events = [];
  for await (const event of await say("What is 20 + 22?", { background: true, stream: true })) events.push(event);
  const again = [];
  const id = events[0].response.id;
  for await (const event of await client.responses.retrieve(id, { stream: true, starting_after: 2 })) again.push(event);
  assert.deepEqual(again, events.slice(3));
});

test("responses: a conversation remembers, and lists its items", async () => {
  const conversation = (await client.conversations.create({ metadata: { topic: "node" } })).id;
  await say("My name is Alex.", { conversation });
  assert.equal((await say("What is my name?", { conversation })).output_text, "Your name is Alex.");
  const texts = [];
  for await (const item of client.conversations.items.list(conversation, { order: "asc", limit: 2 })) {
    texts.push(item.content[0].text);
  }
  assert.deepEqual(texts.filter((text) => text.includes("?") || text.startsWith("Your")), [
    "What is my name?",
    "Your name is Alex.",
  ]);
  assert.ok((await client.conversations.delete(conversation)).deleted);
});

test("responses: one WebSocket carries a conversation", async () => {
  const socket = new ResponsesWS(client);
  const turn = (create) =>
    new Promise((resolve, reject) => {
      const seen = (event) => {
        if (event.type === "response.completed") {
          socket.off("event", seen);
          resolve(event.response);
        }
      };
      socket.on("event", seen);
      socket.once("error", reject);
      socket.send({ type: "response.create", model: "hermes", ...create });
    });
  try {
    const first = await turn({ input: "My name is Alex." });
    const answer = await turn({ input: "What is my name?", previous_response_id: first.id });
    assert.equal(answer.output.at(-1).content[0].text, "Your name is Alex.");
  } finally {
    socket.close();
  }
});
