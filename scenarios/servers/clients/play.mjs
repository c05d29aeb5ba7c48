// Lists the tools of a server, makes the calls, and prints what the client shows of each answer, one JSON object a line.
export async function play(client, calls, call) {
  await client.listTools();
  for (const { name, arguments: arguments_ } of calls) {
    let shown;
    try {
      const result = await call(name, arguments_);
      const texts = (result.content ?? []).filter((block) => block.type === "text").map((block) => block.text);
      const structured = result.structuredContent ? { structured: result.structuredContent } : {};
      shown = { isError: result.isError ?? false, text: texts.join("\n\n"), ...structured };
    } catch (error) {
      shown = { thrown: String(error.message) };
    }
    console.log(JSON.stringify({ name, arguments: arguments_, ...shown }));
  }
  await client.close();
}
