// Writes the event schemas of one release of @ag-ui/client before 1.0.0 as JSON: by type, what it takes as such an event.
//
//     node schemas.mjs RELEASE
import { realpathSync } from "node:fs";
import { createRequire } from "node:module";

const [release] = process.argv.slice(2);
const home = new URL(`../clients/node_modules/ag-ui-client-${release}/package.json`, import.meta.url);
const { EventSchemas } = createRequire(realpathSync(home))("@ag-ui/core");

const options = (def) => [...(def.options.values?.() ?? def.options)];
const tagOf = (schema, by) => describe(schema).members[by].values[0];

function describe(schema) {
  const def = schema._def;
  switch (def.typeName) {
    case "ZodString": return { kind: "string" };
    case "ZodBoolean": return { kind: "boolean" };
    case "ZodAny": case "ZodUnknown": return { kind: "any" };
    case "ZodRecord": return { kind: "record" };
    case "ZodNumber": return { kind: "number", checks: def.checks.map(({ kind, value }) => `${kind}${value ?? ""}`) };
    case "ZodLiteral": return { kind: "one-of", values: [def.value] };
    case "ZodEnum": return { kind: "one-of", values: [...def.values] };
    case "ZodOptional": return { ...describe(def.innerType), optional: true };
    case "ZodNullable": return { ...describe(def.innerType), nullable: true };
    case "ZodDefault": return { ...describe(def.innerType), optional: true };
    case "ZodEffects": return def.effect.type === "refinement"
      ? { ...describe(def.schema), refined: true }
      : describe(def.schema);
    case "ZodArray": return { kind: "list", of: describe(def.type), least: def.minLength?.value ?? 0 };
    case "ZodUnion": return { kind: "union", of: options(def).map(describe) };
    case "ZodDiscriminatedUnion": {
      const kinds = options(def).map((option) => [tagOf(option, def.discriminator), describe(option)]);
      return { kind: "tagged", by: def.discriminator, kinds: Object.fromEntries(kinds) };
    }
    case "ZodObject": {
      const members = Object.entries(schema.shape).map(([name, member]) => [name, describe(member)]);
      return { kind: "object", members: Object.fromEntries(members), closed: def.unknownKeys === "strict" };
    }
    default: throw new Error(`${def.typeName} is not known here`);
  }
}

console.log(JSON.stringify(describe(EventSchemas).kinds));
