HELP = ''


def expand(system_name, arguments):
  return arguments
