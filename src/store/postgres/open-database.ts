import { Database, type DatabaseOptions } from "./database.ts";
import { migrate } from "./migrate.ts";

/** Opens a database with the schema of this version. The first process that opens a new database migrates it. */
export async function openDatabase(url: string, options: DatabaseOptions = {}): Promise<Database> {
  const database = await Database.open(url, options);
  try {
    const applied = await migrate(database);
    for (const { number, name } of applied) options.logger?.info("migrated the database", { number, name });
    return database;
  } catch (error) {
    await database[Symbol.asyncDispose]();
    throw error;
  }
}
